import { type Selectable, sql, type UpdateObject } from 'kysely';
import { padToPowerOfTwo } from '../kernel/padded.ts';
import { type ControlSchema, type ControlTransaction, control, type Database } from '../storage/storage.ts';
import type { Lane, LogLine, Task } from './task.ts';
import { endTask, isOpen, readTask, type TaskEnd, type TaskKey } from './task-store.ts';

/**
 * Which process may run a task. The database decides by its own clock, so any number of processes agree. An expired
 * lease means that its process is gone.
 */

/** Another process resumes a task within 15 s: this time, and the time until it polls. */
export const LEASE_MS = 10_000;

/** When a lease that begins now expires, by the clock of the database. */
export const leaseUntil = ({ now }: Database, leaseMs = LEASE_MS) =>
  sql<number>`${now} + ${sql.lit(leaseMs)}`;
/** Whether no process holds a row, or its lease has expired. */
export const isFree = ({ now }: Database) => sql<boolean>`(lease_until is null or lease_until <= ${now})`;
const isLeasedBy = (owner: string) => sql<boolean>`task.leased_by = ${owner}`;

/** @returns lanes whose first task can be claimed, in the order in which these tasks were accepted */
export async function listClaimable(
  database: Database,
  { kinds, limit }: { kinds: readonly RunnableKind[]; limit: number },
): Promise<Lane[]> {
  if (kinds.length === 0) return [];
  // An ordered task keeps its place even if this program does not know its kind, because a newer program may run it.
  const { rows } = await sql<Lane>`with head as (select task.project_id, min(task.number) as number from task
      where ${isOpen} and (task.is_ordered = 1 or ${isOneKind(kinds)}) group by task.project_id, task.lane)
    select task.project_id as "projectId", task.lane from head
      join task on task.project_id = head.project_id and task.number = head.number
    where ${canBegin(database, kinds)} order by task.number limit ${limit}`.execute(database.read);
  return rows;
}

/**
 * Claims the first open task of a lane with the index task_open. Later tasks have greater numbers, so it remains the
 * first until it ends, and only its own row is locked. A process that finds the row locked leaves it to the process
 * that locked it.
 * @returns the task, RUNNING and leased by the owner; undefined when there is no task, or it is not free
 */
export async function claimNext(
  database: Database,
  { owner, kinds, lane }: { owner: string; kinds: readonly RunnableKind[]; lane: Lane },
): Promise<Task | undefined> {
  if (kinds.length === 0) return undefined;
  const { rows } = await database.write('rows', (tx) =>
    sql<Selectable<ControlSchema['task']>>`with head as (select task.project_id, task.number from task
        where task.project_id = ${lane.projectId} and ${isOpen} and task.lane = ${lane.lane}
        order by task.number limit 1),
      claimed as (select task.project_id as claimed_project, task.number as claimed_number from head
        join task on task.project_id = head.project_id and task.number = head.number
        where ${canBegin(database, kinds)} ${database.isShared ? sql`for update of task skip locked` : sql``})
      update task set leased_by = ${owner}, lease_until = ${leaseUntil(database)}, status = 'RUNNING' from claimed
      where task.project_id = claimed.claimed_project and task.number = claimed.claimed_number
      returning *`.execute(tx),
  );
  return rows[0] && readTask(rows[0]);
}

/** Whether a row is one of these tasks. The list is padded, because each length makes another statement. */
function isOneOf(tasks: readonly TaskKey[]) {
  const keys = padToPowerOfTwo(tasks).map(
    ({ projectId, number }) => sql`(task.project_id = ${projectId} and task.number = ${number})`,
  );
  return sql<boolean>`(${sql.join(keys, sql` or `)})`;
}

/** @returns the numbers of the tasks that the owner still holds; the others have ended or were taken over */
export async function renewLeases(database: Database, owner: string, tasks: readonly TaskKey[]) {
  const set = { lease_until: leaseUntil(database) };
  return new Set(await updateOpen(database, tasks, { set, owner }));
}

/**
 * Frees a task, so that any process can claim it immediately.
 * @returns false when the owner no longer held it
 */
export async function releaseLease(database: Database, owner: string, task: TaskKey): Promise<boolean> {
  const set = { leased_by: null, lease_until: null };
  return (await updateOpen(database, [task], { set, owner })).length > 0;
}

/** Saves the progress of a task. Nothing changes if the owner has lost the lease. */
export async function saveProgress(
  database: Database,
  task: TaskKey,
  { owner, progress }: { owner: string; progress: number },
): Promise<void> {
  await updateOpen(database, [task], { set: { progress }, owner });
}

/** A request to cancel a task, or the answer of the process that runs it. An index in this list is stored. */
const CANCEL_STATES = ['none', 'requested', 'refused'] as const;

/**
 * Requests a cancel, or answers the request as the `owner` that runs the task.
 * @returns false when the task has ended, or the owner has lost it
 */
export async function saveCancelState(
  database: Database,
  task: TaskKey,
  { cancel, owner }: { cancel: (typeof CANCEL_STATES)[number]; owner?: string },
): Promise<boolean> {
  const set = { is_cancel_wanted: CANCEL_STATES.indexOf(cancel) };
  return (await updateOpen(database, [task], { set, owner })).length > 0;
}

/**
 * Changes tasks that have not ended, and with an owner only those that it holds.
 * @returns the numbers of the changed tasks
 */
async function updateOpen(
  database: Database,
  tasks: readonly TaskKey[],
  { set, owner }: { set: UpdateObject<ControlSchema, 'task'>; owner: string | undefined },
): Promise<number[]> {
  const rows = await database.write('rows', (tx) =>
    tx
      .updateTable('task')
      .set(set)
      .where(isOneOf(tasks))
      .where(isOpen)
      .$if(owner !== undefined, (query) => query.where(isLeasedBy(owner ?? '')))
      .returning('number')
      .execute(),
  );
  return rows.map(({ number }) => number);
}

/**
 * Frees all tasks that an owner holds, or without an owner all leased tasks, so that any process can claim them
 * immediately.
 */
export async function releaseLeases(database: Database, table: 'task' | 'webhook_queue', owner?: string) {
  const isHeld = owner === undefined ? sql`leased_by is not null` : sql`leased_by = ${owner}`;
  // This condition lets the database use the index of open tasks.
  const isOfIndex = table === 'task' ? sql`and ${isOpen}` : sql``;
  await database.write('rows', (tx) =>
    sql`update ${sql.table(table)} set leased_by = null, lease_until = null where ${isHeld} ${isOfIndex}`.execute(
      tx,
    ),
  );
}

/** @returns the number of open tasks of these kinds that are neither running nor held */
export async function countUnclaimed(database: Database, kinds: readonly string[]): Promise<number> {
  if (kinds.length === 0) return 0;
  const { count } = await database.read
    .selectFrom('task')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('kind', 'in', kinds)
    .where(isOpen)
    .where(isFree(database))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** @returns when the oldest open task was accepted, for each of these kinds */
export async function findOldest(database: Database, kinds: readonly string[]) {
  const oldest = await database.read
    .selectFrom('task')
    .select(({ fn }) => ['kind', fn.min<number>('request_time').as('at')])
    .where(isOpen)
    .groupBy('kind')
    .execute();
  const ages = new Map(oldest.map(({ kind, at }) => [kind, Number(at)]));
  return Object.fromEntries(kinds.map((kind) => [kind, ages.get(kind)]));
}

/**
 * Ends a task that the owner runs.
 * @returns undefined when the owner no longer holds it
 */
export const endClaimed = (
  tx: ControlTransaction,
  task: TaskKey,
  end: TaskEnd & { owner: string },
): Promise<Task | undefined> => endTask(tx, task, { ...end, guard: isLeasedBy(end.owner) });

/**
 * Ends a task that is not running. Held tasks are PENDING.
 * @returns undefined when the task is running
 */
export const endUnclaimed = (
  database: Database,
  tx: ControlTransaction,
  { task, ...end }: TaskEnd & { task: TaskKey },
): Promise<Task | undefined> =>
  endTask(tx, task, { ...end, guard: sql<boolean>`(${isFree(database)} or task.status = 'PENDING')` });

/** @returns which process holds each of these tasks, and whether that process must cancel it */
export async function findClaims(database: Database, tasks: readonly TaskKey[]) {
  if (tasks.length === 0) return [];
  const rows = await database.read
    .selectFrom('task')
    .select(['project_id', 'number', 'leased_by', 'is_cancel_wanted'])
    .where(isOneOf(tasks))
    .execute();
  return rows.map((row) => ({
    projectId: row.project_id,
    number: row.number,
    owner: row.leased_by ?? undefined,
    cancel: CANCEL_STATES[row.is_cancel_wanted] ?? 'none',
  }));
}

/** Adds a line to the log of a task. Nothing changes if the owner has lost the lease. */
export async function addLogLine(
  tx: ControlTransaction,
  task: TaskKey,
  { owner, at, line }: LogLine & { owner: string },
): Promise<void> {
  const row = await tx
    .updateTable('task')
    .set({ log_counter: sql<number>`log_counter + 1` })
    .where(isOneOf([task]))
    .where(isLeasedBy(owner))
    .returning('log_counter')
    .executeTakeFirst();
  if (row === undefined) return;
  const { projectId, number: taskNumber } = task;
  await control.insert(tx, 'task_log', { projectId, taskNumber, lineNumber: row.log_counter, at, line });
}

export interface RunnableKind {
  readonly kind: string;
  readonly limits?: {
    /** The most tasks of this kind that run in a project at a time, over all processes. */
    readonly inProject: number;
    /** The most tasks of this kind that this process runs for an account. */
    readonly inAccount: number;
    /** The project of each task of this kind that this process is running. */
    readonly busyProjects: readonly number[];
  };
}

const isOneKind = (kinds: readonly RunnableKind[]) =>
  sql<boolean>`task.kind in (${sql.join(kinds.map(({ kind }) => kind))})`;

const canBegin = (database: Database, kinds: readonly RunnableKind[]) =>
  sql<boolean>`${isOneKind(kinds)} and ${isOpen} and ${isFree(database)} and ${hasRoom(database, kinds)}`;

/** If two processes claim at the same time, both may find room, and then one task too many runs for a while. */
function hasRoom(database: Database, kinds: readonly RunnableKind[]) {
  const rooms = kinds.flatMap(({ kind, limits }) => {
    if (limits === undefined) return [];
    const { inProject, inAccount, busyProjects } = limits;
    const isOpenProject = sql<boolean>`${inProject} > (select count(*) from task busy
      where busy.project_id = task.project_id and busy.status in ('PENDING', 'RUNNING') and busy.kind = ${kind}
        and busy.lease_until > ${database.now})`;
    const isOpenAccount = busyProjects.length < inAccount ? [] : [hasAccountRoom(inAccount, busyProjects)];
    return sql<boolean>`(task.kind <> ${kind} or (${sql.join([isOpenProject, ...isOpenAccount], sql` and `)}))`;
  });
  return rooms.length === 0 ? sql<boolean>`1 = 1` : sql<boolean>`${sql.join(rooms, sql` and `)}`;
}

function hasAccountRoom(inAccount: number, busyProjects: readonly number[]) {
  const busy = busyProjects.map((id) => sql`select cast(${id} as bigint) as id`);
  return sql<boolean>`${inAccount} > (select count(*) from (${sql.join(busy, sql` union all `)}) busy
    join project on project.id = busy.id
    where project.account_id = (select own.account_id from project own where own.id = task.project_id))`;
}
