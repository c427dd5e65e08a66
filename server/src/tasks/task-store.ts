import { type RawBuilder, type Selectable, sql } from 'kysely';
import { isStorableText } from '../kernel/storable-text.ts';
import {
  type ControlSchema,
  type ControlTransaction,
  control,
  type Database,
  type Fields,
  toSnake,
} from '../storage/storage.ts';
import type { LogLine, NewTask, Task, TaskIncrement } from './task.ts';
import type { TaskFailure, TaskOrigin, TaskStatus } from './task-schemas.ts';

type Rows = Pick<ControlTransaction, 'selectFrom'>;

/** The key of a task. The project is part of it, because rows are stored by project. */
export type TaskKey = Pick<Task, 'projectId' | 'number'>;

/** Worded exactly like the condition of the index task_open, because with parameters no store would recognise it. */
export const isOpen = sql<boolean>`task.status in ('PENDING', 'RUNNING')`;

export function readTask(row: Selectable<ControlSchema['task']>): Task {
  return {
    number: row.number,
    id: row.id,
    projectId: row.project_id,
    projectName: row.project_name,
    kind: row.kind,
    name: row.name,
    origin: row.origin as TaskOrigin,
    increment: row.increment_type as TaskIncrement,
    status: row.status as TaskStatus,
    isOrdered: row.is_ordered === 1,
    lane: row.lane,
    requestedAt: row.request_time,
    startedAt: row.start_time,
    finishedAt: row.finish_time ?? undefined,
    progress: row.progress,
    logCounter: row.log_counter,
    payload: row.payload,
    failure: row.failure === null ? undefined : (JSON.parse(row.failure) as TaskFailure),
    result: row.result === null ? undefined : (JSON.parse(row.result) as object),
    parent: row.parent ?? undefined,
    traceparent: row.traceparent ?? undefined,
  };
}

/**
 * @param lease the columns of a task that its process holds
 * @returns the task with its number, which is the order of acceptance
 */
export async function insertTask(
  tx: ControlTransaction,
  { requestedAt: requestTime, startedAt: startTime, increment: incrementType, ...task }: NewTask,
  lease?: Fields<'task'>,
): Promise<Task> {
  const named = { ...task, requestTime, startTime, incrementType, isOrdered: Number(task.isOrdered) };
  return readTask(await control.insert(tx, 'task', { ...named, ...lease }));
}

/** Deletes a task that its owner keeps from running. A task that has begun in another process remains. */
export const removeHeld = (tx: ControlTransaction, owner: string, { projectId, number }: TaskKey) =>
  control.remove(tx, 'task', { projectId, number, status: 'PENDING', leasedBy: owner });

const selectTasks = (rows: Rows, projectId: number) =>
  rows.selectFrom('task').selectAll().where('project_id', '=', projectId);

export async function findTask({ read }: Database, id: string): Promise<Task | undefined> {
  if (!isStorableText(id)) return undefined;
  const row = await read.selectFrom('task').selectAll().where('id', '=', id).executeTakeFirst();
  return row && readTask(row);
}

/** `from` and `to` limit the time of acceptance. */
interface TaskFilter {
  readonly projectId: number;
  readonly status?: TaskStatus | undefined;
  readonly origin?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly below?: number | undefined;
  readonly limit: number;
}

/** @returns newest first, without parts of other tasks */
export async function listTasks({ read }: Database, filter: TaskFilter): Promise<Task[]> {
  const { status, origin, from, to, below } = filter;
  const rows = await selectTasks(read, filter.projectId)
    .where('parent', 'is', null)
    .$if(status !== undefined, (query) => query.where('status', '=', String(status)))
    .$if(origin !== undefined, (query) => query.where('origin', '=', String(origin)))
    .$if(from !== undefined, (query) => query.where('request_time', '>=', Number(from)))
    .$if(to !== undefined, (query) => query.where('request_time', '<', Number(to)))
    .$if(below !== undefined, (query) => query.where('number', '<', Number(below)))
    .orderBy('number', 'desc')
    .limit(filter.limit)
    .execute();
  return rows.map(readTask);
}

/** @returns the project's tasks with these numbers, in any order and without deleted ones */
export async function listNumberedTasks({ read }: Database, projectId: number, numbers: readonly number[]) {
  if (numbers.length === 0) return [];
  return (await selectTasks(read, projectId).where('number', 'in', numbers).execute()).map(readTask);
}

/** @returns all tasks that have not ended, in order of acceptance, with the index task_open */
export async function listOpenTasks({ read }: Database, projectId?: number): Promise<Task[]> {
  const rows = await read
    .selectFrom('task')
    .selectAll()
    .where(isOpen)
    .$if(projectId !== undefined, (query) => query.where('project_id', '=', Number(projectId)))
    .orderBy('number')
    .execute();
  return rows.map(readTask);
}

/** @returns the writes that a task accepted as its parts, in order of acceptance */
export async function listParts(rows: Rows, { projectId, number }: TaskKey): Promise<Task[]> {
  const parts = await selectTasks(rows, projectId)
    .where((is) => is.and({ parent: number, is_ordered: 1 }))
    .orderBy('number')
    .execute();
  return parts.map(readTask);
}

export async function hasOpenOrdered(database: Database, projectId: number): Promise<boolean> {
  const row = await database.read
    .selectFrom('task')
    .select('number')
    .where((is) => is.and({ project_id: projectId, is_ordered: 1 }))
    .where(isOpen)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** The state of a task that a waiting caller can see. */
export type TaskState = Pick<Task, 'status' | 'progress' | 'logCounter'>;

/**
 * @returns the states of tasks by their ids, in one statement; called only on PostgreSQL, where other processes change
 * them
 */
export async function findStates(database: Database, tasks: readonly Pick<Task, 'projectId' | 'id'>[]) {
  const rows = await database.read
    .selectFrom('task')
    .select(['id', 'status', 'progress', 'log_counter as logCounter'])
    .where('project_id', '=', sql<number>`any(${[...new Set(tasks.map(({ projectId }) => projectId))]})`)
    .where('id', '=', sql<string>`any(${[...new Set(tasks.map(({ id }) => id))]})`)
    .execute();
  return new Map(rows.map(({ id, ...state }) => [id, state as TaskState]));
}

export interface TaskEnd extends Partial<Pick<Task, 'failure' | 'result'>> {
  readonly status: 'FINISHED' | 'FAILED' | 'CANCELLED';
  readonly finishedAt: number;
}

/**
 * Ends an open task whose row satisfies `guard`.
 * @returns undefined when the task has ended, or its row does not satisfy the guard
 */
export async function endTask(
  tx: ControlTransaction,
  { projectId, number }: TaskKey,
  { status, finishedAt, failure, result, guard }: TaskEnd & { guard?: RawBuilder<boolean> },
): Promise<Task | undefined> {
  const row = await tx
    .updateTable('task')
    .set({
      status,
      finish_time: finishedAt,
      failure: failure === undefined ? null : JSON.stringify(failure),
      result: result === undefined ? null : JSON.stringify(result),
      leased_by: null,
      lease_until: null,
      ...(status === 'FINISHED' && { progress: 100 }),
    })
    .where((is) => is.and({ project_id: projectId, number }))
    .where(isOpen)
    .$if(guard !== undefined, (query) => query.where(guard ?? isOpen))
    .returningAll()
    .executeTakeFirst();
  return row && readTask(row);
}

/** @returns the log lines, oldest first */
export async function listLogLines(database: Database, { projectId, number }: TaskKey): Promise<LogLine[]> {
  return database.read
    .selectFrom('task_log')
    .select(['at', 'line'])
    .where((is) => is.and({ project_id: projectId, task_number: number }))
    .orderBy('line_number')
    .execute();
}

/**
 * Deletes tasks that ended before the given time, with their rows in `tables`.
 * @returns the number of deleted tasks
 */
export async function dropTasksBefore(
  database: Database,
  before: number,
  tables: readonly (keyof ControlSchema)[],
): Promise<number> {
  return database.write('rows', async (tx) => {
    for (const table of tables)
      await sql`delete from ${sql.table(table)} where exists (select task.number from task
        where task.project_id = ${sql.ref(`${table}.project_id`)} and task.number = ${sql.ref(`${table}.task_number`)}
          and task.finish_time < ${before})`.execute(tx);
    const result = await tx.deleteFrom('task').where('finish_time', '<', before).executeTakeFirst();
    return Number(result.numDeletedRows);
  });
}

/** The lines of a report per row of its table. Rows are read one at a time. */
const PART_LINES = 2_000;

/**
 * Saves the report as NDJSON, with the number of omitted lines at the end. Replaces the report of a run before a crash.
 */
export async function saveReport(
  tx: ControlTransaction,
  { projectId, number: taskNumber }: TaskKey,
  { report, unreported }: { readonly report: readonly string[]; readonly unreported: number },
): Promise<void> {
  const key = { projectId, taskNumber };
  await control.remove(tx, 'task_report', key);
  const insert = (part: number, lines: readonly string[]) => {
    const row = { ...key, part, line_count: lines.length, lines: `${lines.join('\n')}\n` };
    return tx.insertInto('task_report').values(toSnake(row)).execute();
  };
  let part = 0;
  for (let start = 0; start < report.length; start += PART_LINES)
    await insert(part++, report.slice(start, start + PART_LINES));
  if (unreported > 0) await insert(part, [JSON.stringify({ more: unreported })]);
}

/** @returns the next part of the report as NDJSON; undefined after the last one */
export async function findReportPart({ read }: Database, { projectId, number }: TaskKey, part: number) {
  return (await control.find(read, 'task_report', { projectId, taskNumber: number, part }))?.lines;
}
