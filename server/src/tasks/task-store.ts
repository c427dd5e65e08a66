import { type Selectable, sql } from 'kysely';
import type { ControlSchema, ControlTransaction, Database } from '../storage/storage.ts';
import type { LogLine, Task, TaskFailure, TaskIncrement, TaskOrigin, TaskStatus } from './task.ts';

type TaskRow = Selectable<ControlSchema['task']>;

const OPEN: TaskStatus[] = ['PENDING', 'RUNNING'];

function readTask(row: TaskRow): Task {
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
    requestedAt: row.request_time,
    startedAt: row.start_time,
    finishedAt: row.finish_time ?? undefined,
    progress: row.progress,
    logCounter: row.log_counter,
    payload: row.payload,
    failure: row.failure === null ? undefined : (JSON.parse(row.failure) as TaskFailure),
  };
}

export type NewTask = Omit<Task, 'number' | 'finishedAt' | 'progress' | 'logCounter' | 'failure'>;

/** @returns the task with its number, the order of its acceptance. */
export async function insertTask(tx: ControlTransaction, task: NewTask): Promise<Task> {
  const row = await tx
    .insertInto('task')
    .values({
      id: task.id,
      project_id: task.projectId,
      project_name: task.projectName,
      kind: task.kind,
      name: task.name,
      origin: task.origin,
      increment_type: task.increment,
      status: task.status,
      is_ordered: task.isOrdered ? 1 : 0,
      request_time: task.requestedAt,
      start_time: task.startedAt,
      payload: task.payload,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return readTask(row);
}

export async function findTask(database: Database, id: string): Promise<Task | undefined> {
  const row = await database.read.selectFrom('task').selectAll().where('id', '=', id).executeTakeFirst();
  return row && readTask(row);
}

/** @returns newest first. */
export async function listTasks(
  database: Database,
  wanted: { projectId: number; status?: TaskStatus | undefined; below?: number | undefined; limit: number },
): Promise<Task[]> {
  const rows = await database.read
    .selectFrom('task')
    .selectAll()
    .where('project_id', '=', wanted.projectId)
    .$if(wanted.status !== undefined, (query) => query.where('status', '=', String(wanted.status)))
    .$if(wanted.below !== undefined, (query) => query.where('number', '<', Number(wanted.below)))
    .orderBy('number', 'desc')
    .limit(wanted.limit)
    .execute();
  return rows.map(readTask);
}

/** @returns every task that has not ended, in order of acceptance; relies on the index task_open. */
export async function listOpenTasks(database: Database, projectId?: number): Promise<Task[]> {
  const rows = await database.read
    .selectFrom('task')
    .selectAll()
    .where('status', 'in', OPEN)
    .$if(projectId !== undefined, (query) => query.where('project_id', '=', Number(projectId)))
    .orderBy('number')
    .execute();
  return rows.map(readTask);
}

/** Claims a task for a process until then, or renews its claim. @returns false when it has ended meanwhile */
export async function leaseTask(
  database: Database,
  lease: { number: number; owner: string; until: number },
): Promise<boolean> {
  const result = await database.write((tx) =>
    tx
      .updateTable('task')
      .set({ leased_by: lease.owner, lease_until: lease.until, status: 'RUNNING' })
      .where('number', '=', lease.number)
      .where('status', 'in', OPEN)
      .executeTakeFirst(),
  );
  return result.numUpdatedRows > 0n;
}

/** Renews what a process runs. A lease that ran out says that its process is gone. */
export async function renewLeases(
  database: Database,
  numbers: readonly number[],
  until: number,
): Promise<void> {
  await database.write((tx) =>
    tx
      .updateTable('task')
      .set({ lease_until: until })
      .where('number', 'in', [...numbers])
      .execute(),
  );
}

/** Hands tasks back, so that the next process takes them at once. */
export async function releaseLeases(database: Database, owner: string): Promise<void> {
  await database.write((tx) =>
    tx
      .updateTable('task')
      .set({ leased_by: null, lease_until: null })
      .where('leased_by', '=', owner)
      .where('status', 'in', OPEN)
      .execute(),
  );
}

export async function saveProgress(database: Database, number: number, progress: number): Promise<void> {
  await database.write((tx) =>
    tx
      .updateTable('task')
      .set({ progress })
      .where('number', '=', number)
      .where('status', 'in', OPEN)
      .execute(),
  );
}

export interface TaskEnd {
  readonly number: number;
  readonly status: 'FINISHED' | 'FAILED' | 'CANCELLED';
  readonly finishedAt: number;
  readonly failure?: TaskFailure | undefined;
}

/** @returns the ended task; undefined when it had ended before. */
export async function endTask(tx: ControlTransaction, end: TaskEnd): Promise<Task | undefined> {
  const row = await tx
    .updateTable('task')
    .set({
      status: end.status,
      finish_time: end.finishedAt,
      failure: end.failure === undefined ? null : JSON.stringify(end.failure),
      leased_by: null,
      lease_until: null,
      ...(end.status === 'FINISHED' && { progress: 100 }),
    })
    .where('number', '=', end.number)
    .where('status', 'in', OPEN)
    .returningAll()
    .executeTakeFirst();
  return row && readTask(row);
}

export async function addLogLine(
  tx: ControlTransaction,
  number: number,
  { at, line }: LogLine,
): Promise<void> {
  const row = await tx
    .updateTable('task')
    .set({ log_counter: sql<number>`log_counter + 1` })
    .where('number', '=', number)
    .returning('log_counter')
    .executeTakeFirst();
  if (row === undefined) return;
  await tx
    .insertInto('task_log')
    .values({ task_number: number, line_number: row.log_counter, at, line })
    .execute();
}

/** @returns oldest first. */
export async function listLogLines(database: Database, number: number): Promise<LogLine[]> {
  return database.read
    .selectFrom('task_log')
    .select(['at', 'line'])
    .where('task_number', '=', number)
    .orderBy('line_number')
    .execute();
}

/** Replaces the report: a task that runs again after a crash reports anew. */
export async function saveReport(
  tx: ControlTransaction,
  number: number,
  parts: readonly { lines: string; lineCount: number }[],
): Promise<void> {
  await tx.deleteFrom('task_report').where('task_number', '=', number).execute();
  for (const [part, { lines, lineCount }] of parts.entries()) {
    await tx
      .insertInto('task_report')
      .values({ task_number: number, part, line_count: lineCount, lines })
      .execute();
  }
}

/** @returns one part of the report as NDJSON; undefined after the last. */
export async function findReportPart(
  database: Database,
  number: number,
  part: number,
): Promise<string | undefined> {
  const row = await database.read
    .selectFrom('task_report')
    .select('lines')
    .where('task_number', '=', number)
    .where('part', '=', part)
    .executeTakeFirst();
  return row?.lines;
}

/** Forgets tasks that ended before then, with logs and reports. @returns how many */
export async function dropTasksBefore(database: Database, before: number): Promise<number> {
  return database.write(async (tx) => {
    const old = tx.selectFrom('task').select('number').where('finish_time', '<', before);
    await tx.deleteFrom('task_log').where('task_number', 'in', old).execute();
    await tx.deleteFrom('task_report').where('task_number', 'in', old).execute();
    const result = await tx.deleteFrom('task').where('finish_time', '<', before).executeTakeFirst();
    return Number(result.numDeletedRows);
  });
}
