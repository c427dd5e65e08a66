import { hostname } from 'node:os';
import { type InferResult, sql } from 'kysely';
import { newestOf } from '../../storage/migrations/migrations.ts';
import type { BodyEncoding } from '../../storage/payloads/payloads.ts';
import { nameSessions } from '../../storage/postgres/postgres.ts';
import {
  areEqual,
  type ControlTransaction,
  control,
  type Database,
  type Fields,
  toSnake,
} from '../../storage/storage.ts';

export interface FullUpdate extends BatchesState {
  readonly id: number;
  readonly projectId: number;
  readonly state: 'open' | 'committing' | 'committed' | 'discarded';
  /** When it was opened or accepted its last batch. */
  readonly batchAt: number;
  readonly commitTaskId: string | undefined;
  /** The key or user that began it, by `nameCaller`; undefined: a task, or an earlier version. */
  readonly openedBy: string | undefined;
  /** The id of the full update that discarded it. */
  readonly replacedBy: number | undefined;
  /** What it held when its commit began; undefined before, and if an earlier version began the commit. */
  readonly held: AcceptedBatches | undefined;
}

/** The counts of docs/interface §4.4 rule 29. */
export interface AcceptedBatches {
  readonly batches: number;
  readonly products: number;
}

/** What a commit must know about batches that it would lack. */
export interface BatchesState {
  readonly lastBatch: BatchState;
  /** Batches whose body is not completely received and stored, at all processes. */
  readonly arriving: number;
}

/** As numbered in rows. `in doubt`: a process may have refused a batch without being able to record that. */
const BATCH_STATES = ['accepted', 'failed', 'in doubt'] as const;
type BatchState = (typeof BATCH_STATES)[number];

export interface Batch {
  readonly batch: number;
  readonly taskId: string;
  readonly payloadName: string;
  readonly encoding: BodyEncoding;
  readonly productCount: number;
  /** Of its unpacked body; null: accepted by an earlier version. */
  readonly digest: string | null;
}

/** A batch that repeats another one byte for byte counts once: its sender got no answer to the first. */
export function countAccepted(batches: readonly Pick<Batch, 'batch' | 'digest' | 'productCount'>[]) {
  const distinct = new Map(batches.map((one) => [one.digest ?? one.batch, one.productCount]));
  const products = distinct.values().reduce((sum, count) => sum + count, 0);
  return { batches: distinct.size, products } satisfies AcceptedBatches;
}

const selectFullUpdates = (read: Database['read']) =>
  read
    .selectFrom('full_update')
    .select(['id', 'project_id as projectId', 'state', 'last_batch_failed', 'batch_at as batchAt'])
    .select(['opened_by', 'replaced_by', 'batch_count', 'product_count'])
    .select([
      'commit_task_id',
      sql<number>`(select count(*) from arriving_batch a where a.project_id = full_update.project_id
        and a.full_update_id = full_update.id)`.as('arriving'),
    ]);
type FullUpdateRow = InferResult<ReturnType<typeof selectFullUpdates>>[number];

function readFullUpdate(row: FullUpdateRow): FullUpdate {
  const { last_batch_failed, commit_task_id, state, opened_by, replaced_by, ...rest } = row;
  const { batch_count: batches, product_count: products, ...same } = rest;
  return {
    ...same,
    state: state as FullUpdate['state'],
    lastBatch: BATCH_STATES[last_batch_failed] ?? 'failed',
    commitTaskId: commit_task_id ?? undefined,
    openedBy: opened_by ?? undefined,
    replacedBy: replaced_by ?? undefined,
    held: batches === null || products === null ? undefined : { batches, products },
  };
}

/** Identifies a full update; ids are global, but its rows are stored by project. */
export type FullUpdateKey = Pick<FullUpdate, 'id' | 'projectId'>;

const rowOf = ({ id, projectId }: FullUpdateKey) => ({ projectId, id });
const batchesOf = ({ id, projectId }: FullUpdateKey) => ({ projectId, fullUpdateId: id });

/** @returns whether it was still open, and was changed */
async function changeOpen(tx: ControlTransaction, key: FullUpdateKey, set: Fields<'full_update'>) {
  const where = { ...rowOf(key), state: 'open' };
  return (await control.update(tx, 'full_update', { where, set })) > 0;
}

/** Discards the open session and opens a new one. @returns the result of `alongside`, from the same transaction */
export const openFullUpdate = <Answer>(
  database: Database,
  { projectId, origin, openedBy, now }: OpenedFullUpdate,
  alongside: (tx: ControlTransaction, id: number) => Promise<Answer>,
): Promise<Answer> =>
  database.write(projectId, async (tx) => {
    const session = { projectId, origin, state: 'open' };
    const open = await control.find(tx, 'full_update', session);
    await control.update(tx, 'full_update', { where: session, set: { state: 'discarded' } });
    const opened = { ...session, openedBy, createdAt: now, batchAt: now };
    const { id } = await control.insert(tx, 'full_update', opened);
    if (open !== undefined)
      await control.update(tx, 'full_update', { where: { projectId, id: open.id }, set: { replacedBy: id } });
    return alongside(tx, id);
  });

interface OpenedFullUpdate {
  readonly projectId: number;
  readonly origin: string;
  readonly openedBy: string | null;
  readonly now: number;
}

/** Full updates of a project that callers, or one task, fill. */
interface FullUpdatesOf {
  readonly projectId: number;
  readonly origin: string;
}

const selectOf = (database: Database, { projectId, origin }: FullUpdatesOf) =>
  selectFullUpdates(database.read)
    .where((is) => is.and({ project_id: projectId, origin }))
    .orderBy('id', 'desc')
    .limit(1);

/** @returns the newest full update of this origin that is open or was started, whatever became of its commit */
export async function findLatestFullUpdate(
  database: Database,
  of: FullUpdatesOf,
): Promise<FullUpdate | undefined> {
  const row = await selectOf(database, of)
    .where((is) => is.or([is('state', '!=', 'discarded'), is('commit_task_id', 'is not', null)]))
    .executeTakeFirst();
  return row && readFullUpdate(row);
}

/** @returns the newest full update that the caller began, whatever became of it; those of nobody belong to every caller */
export async function findLatestOfCaller(
  database: Database,
  { caller, ...of }: FullUpdatesOf & { caller: string },
): Promise<FullUpdate | undefined> {
  const row = await selectOf(database, of).where(ofCaller(caller)).executeTakeFirst();
  return row && readFullUpdate(row);
}

const ofCaller = (caller: string) => sql<boolean>`(opened_by is null or opened_by = ${caller})`;

/** @returns whether it was still open */
export const discardOpen = (
  database: Database,
  key: FullUpdateKey,
  alongside: (tx: ControlTransaction) => Promise<void>,
): Promise<boolean> =>
  database.write(key.projectId, async (tx) => {
    const isOpen = await changeOpen(tx, key, { state: 'discarded' });
    if (isOpen) await alongside(tx);
    return isOpen;
  });

/** Whether the caller gave a later one up. */
export async function wasGivenUpSince(
  database: Database,
  { id, projectId, origin, caller }: FullUpdateKey & { origin: string; caller: string },
): Promise<boolean> {
  const row = await database.read
    .selectFrom('full_update')
    .select('id')
    .where((is) => is.and({ project_id: projectId, origin }))
    .where('id', '>', id)
    .where(ofCaller(caller))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export async function findFullUpdate(read: Database['read'], key: FullUpdateKey) {
  const row = await selectFullUpdates(read)
    .where((is) => is.and(toSnake(rowOf(key))))
    .executeTakeFirst();
  return row && readFullUpdate(row);
}

/** @returns those whose staged products are still needed */
export async function listLiveFullUpdates(database: Database, projectId: number): Promise<number[]> {
  const rows = await database.read
    .selectFrom('full_update')
    .select('id')
    .where('project_id', '=', projectId)
    .where('state', 'in', ['open', 'committing'])
    .execute();
  return rows.map(({ id }) => id);
}

/** A batch whose body is being received by a process. */
export interface ArrivingBatch extends FullUpdateKey {
  readonly processId: string;
  /** Counted by the process. */
  readonly number: number;
}

const keyOfArriving = ({ processId, number, ...key }: ArrivingBatch) => ({
  ...batchesOf(key),
  processId,
  number,
});

/** Call it before changing the batch's full update: other transactions that change both lock them in this order. */
const removeArriving = (tx: ControlTransaction, batch: ArrivingBatch) =>
  control.remove(tx, 'arriving_batch', keyOfArriving(batch));

/** Adds a batch to an open full update. @returns its number; undefined if it is no longer open */
export async function addBatch(
  tx: ControlTransaction,
  key: FullUpdateKey,
  {
    arriving,
    now,
    ...added
  }: Omit<Batch, 'batch'> & {
    now: number;
    /** How it was counted while arriving; undefined for a task, which sends batches one by one. */
    arriving: ArrivingBatch | undefined;
  },
): Promise<number | undefined> {
  if (arriving !== undefined) await removeArriving(tx, arriving);
  if (!(await changeOpen(tx, key, { lastBatchFailed: 0, batchAt: now }))) return undefined;
  const of = batchesOf(key);
  const next = sql<number>`(select coalesce(max(batch), 0) + 1 from full_update_batch where ${areEqual(of)})`;
  return (await control.insert(tx, 'full_update_batch', { ...of, batch: next, ...added })).batch;
}

export async function listBatches(read: Database['read'], key: FullUpdateKey): Promise<Batch[]> {
  const columns = ['batch', 'task_id as taskId', 'payload_name as payloadName', 'encoding'] as const;
  const rows = await read
    .selectFrom('full_update_batch')
    .select([...columns, 'product_count as productCount', 'digest'])
    .where((is) => is.and(toSnake(batchesOf(key))))
    .orderBy('batch')
    .execute();
  return rows.map((row) => ({ ...row, encoding: row.encoding as Batch['encoding'] }));
}

/**
 * No batch can begin from here on until the transaction ends: `expectBatch` waits for the row.
 * @returns the full update whose commit begins now, in its present state; otherwise the task that began it before
 */
export async function beginCommit(
  tx: ControlTransaction,
  { taskId, ...key }: FullUpdateKey & { taskId: string },
): Promise<{ begun: FullUpdate } | { begun: undefined; commitTaskId: string | undefined }> {
  const isBegun = await changeOpen(tx, key, { state: 'committing', commitTaskId: taskId });
  // A separate statement, as one that waited for a row counts what was there before it waited.
  const present = await findFullUpdate(tx, key);
  if (isBegun && present !== undefined) return { begun: present };
  return { begun: undefined, commitTaskId: present?.commitTaskId };
}

/** Records what the full update holds, for a start that repeats the one that began the commit. */
export async function noteHeld(
  tx: ControlTransaction,
  key: FullUpdateKey,
  { batches, products }: AcceptedBatches,
): Promise<void> {
  const set = { batchCount: batches, productCount: products };
  await control.update(tx, 'full_update', { where: rowOf(key), set });
}

/** Ends a full update and deletes its batches. */
export const closeFullUpdate = (database: Database, key: FullUpdateKey, state: 'committed' | 'discarded') =>
  database.write(key.projectId, async (tx) => {
    await control.update(tx, 'full_update', { where: rowOf(key), set: { state } });
    await control.remove(tx, 'full_update_batch', batchesOf(key));
  });

/** @returns full updates of all projects that accept no more batches but still have some */
export async function listUnclosed(database: Database): Promise<FullUpdate[]> {
  const rows = await selectFullUpdates(database.read)
    .where('state', '!=', 'open')
    .where('id', 'in', database.read.selectFrom('full_update_batch').select('full_update_id'))
    .execute();
  return rows.map(readFullUpdate);
}

const FAILED = 1;
const IN_DOUBT = 2;

/** The full update that a call concerns: the named one, else the one that its caller began. */
export interface ChosenSession {
  readonly fullUpdateId?: number | undefined;
  /** By `nameCaller`. */
  readonly caller: string;
}

/**
 * Counts a batch that is about to be read, for which a commit waits.
 * @returns the batch of the open full update; undefined if there is none
 */
export function expectBatch(
  database: Database,
  expected: Omit<ArrivingBatch, 'id'> & { origin: string } & ChosenSession,
): Promise<ArrivingBatch | undefined> {
  const { projectId, processId, number, origin, caller, fullUpdateId } = expected;
  return database.write('rows', async (tx) => {
    const open = await tx
      .selectFrom('full_update')
      .select(['id', 'batch_at'])
      .where((is) => is.and({ project_id: projectId, origin, state: 'open' }))
      .$if(fullUpdateId !== undefined, (query) => query.where('id', '=', Number(fullUpdateId)))
      .$if(fullUpdateId === undefined, (query) => query.where(ofCaller(caller)))
      // A commit that begins meanwhile waits and counts the batch, or the batch waits and finds none open.
      .$if(database.isShared, (query) => query.forShare())
      .executeTakeFirst();
    if (open === undefined) return undefined;
    const batch = { id: open.id, projectId, processId, number };
    await control.insert(tx, 'arriving_batch', { ...keyOfArriving(batch), afterBatchAt: open.batch_at });
    return batch;
  });
}

/** Ends the count of a batch: it failed, or was accepted in an earlier request. */
export const endExpected = (database: Database, batch: ArrivingBatch, hasFailed: boolean): Promise<void> =>
  database.write('rows', async (tx) => {
    await removeArriving(tx, batch);
    if (hasFailed) await changeOpen(tx, batch, { lastBatchFailed: FAILED });
  });

/**
 * Ends batches that failed at an unknown time: those of dead processes, and the named one, which could not be ended
 * immediately. If another batch was accepted since they began, it may have been the same one, sent again.
 */
async function endLost(tx: ControlTransaction, named?: ArrivingBatch): Promise<void> {
  const listed = tx.selectFrom('upload_process').select('id');
  const lost = await tx
    .deleteFrom('arriving_batch')
    .where((is) =>
      named === undefined ? is('process_id', 'not in', listed) : is.and(toSnake(keyOfArriving(named))),
    )
    .returning(['project_id as projectId', 'full_update_id as id', 'after_batch_at'])
    .execute();
  for (const { projectId, id, after_batch_at } of lost) {
    const lastBatchFailed = sql<number>`case when batch_at = ${after_batch_at} or last_batch_failed = ${sql.lit(FAILED)}
      then ${sql.lit(FAILED)} else ${sql.lit(IN_DOUBT)} end`;
    await changeOpen(tx, { projectId, id }, { lastBatchFailed });
  }
}

/** Ends a batch that failed some time ago and could not be ended then. */
export const endLostBatch = (database: Database, batch: ArrivingBatch): Promise<void> =>
  database.write('rows', (tx) => endLost(tx, batch));

/** Records that a batch was not accepted, or may not have been. */
export interface FailedBatch {
  /** undefined if the project is unknown. */
  readonly projectId: number | undefined;
  /** Its sender, whose full update it concerns; undefined if it may be that of any caller. */
  readonly caller?: string | undefined;
  readonly state: 'failed' | 'in doubt';
  readonly at: number;
}

/** Marks open full updates that have accepted no batch since. */
export async function markFailedBatch(
  database: Database,
  origin: string,
  { projectId, caller, state, at }: FailedBatch,
): Promise<void> {
  await database.write('rows', (tx) =>
    markOpen(tx, origin, state)
      .where('batch_at', '<=', at)
      .$if(projectId !== undefined, (query) => query.where('project_id', '=', Number(projectId)))
      .$if(caller !== undefined, (query) => query.where(ofCaller(String(caller))))
      .execute(),
  );
}

function markOpen(tx: ControlTransaction, origin: string, state: FailedBatch['state']) {
  return tx
    .updateTable('full_update')
    .set({ last_batch_failed: state === 'failed' ? FAILED : IN_DOUBT })
    .where((is) => is.and({ state: 'open', origin }))
    .where('last_batch_failed', '!=', FAILED);
}

/**
 * Reports that a process is alive and has stored all its marks; also its version, for programs that want to
 * migrate the database (`storage/postgres/migrate.ts`).
 */
export async function noteProcess(database: Database, takesBatches: boolean): Promise<void> {
  const seen = { seen_at: database.now };
  const itself = {
    schema_version: newestOf('postgres'),
    place: `${hostname()} pid ${process.pid}`,
    takes_batches: Number(takesBatches),
  };
  await database.write('rows', (tx) =>
    tx
      .insertInto('upload_process')
      .values({ id: database.processId, ...seen, ...(database.isShared && itself) })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(seen))
      .execute(),
  );
}

export const removeProcess = (database: Database): Promise<void> =>
  database.write('rows', async (tx) => {
    await control.remove(tx, 'upload_process', { id: database.processId });
    await endLost(tx);
  });

/**
 * Removes processes that were not seen for the given time, or all; if one of them accepted batches, every open full
 * update is at least in doubt. Ends sessions that a hanging one left open: they keep locks that others would wait for.
 */
export async function removeGoneProcesses(database: Database, origin: string, unseenMs?: number) {
  // First, because a session may hold the row of its own process.
  if (database.isShared) await endSessionsOfGone(database, unseenMs);
  // The only process of an embedded store accepts batches.
  const takesBatches = sql<number>`${database.isShared ? sql.ref('takes_batches') : sql.lit(1)}`;
  await database.write('rows', async (tx) => {
    const removed = await tx
      .deleteFrom('upload_process')
      .where(isUnseen(database, unseenMs))
      .returning(takesBatches.as('takesBatches'))
      .execute();
    await endLost(tx);
    if (removed.some((one) => one.takesBatches === 1)) await markOpen(tx, origin, 'in doubt').execute();
  });
}

const isUnseen = (database: Database, unseenMs: number | undefined) =>
  unseenMs === undefined
    ? sql<boolean>`true`
    : sql<boolean>`seen_at <= ${database.now} - ${sql.lit(Number(unseenMs))}`;

async function endSessionsOfGone(database: Database, unseenMs: number | undefined): Promise<void> {
  const gone = await database.read
    .selectFrom('upload_process')
    .select('id')
    .where(isUnseen(database, unseenMs))
    .execute();
  if (gone.length === 0) return;
  const names = gone.map(({ id }) => nameSessions(id));
  // An idle session holds nothing; behind a proxy it may be another process's by now.
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name in (${sql.join(names)}) and state <> 'idle' and usename = current_user
      and datname = current_database()`.execute(database.read);
}

/** For a shared database. @returns when each other process that accepts batches was last seen, by its id */
export async function listOtherProcesses(database: Database): Promise<Map<string, number>> {
  const rows = await database.read
    .selectFrom('upload_process')
    .select(['id', 'seen_at as seenAt'])
    .where('id', '!=', database.processId)
    .where('takes_batches', '=', 1)
    .execute();
  return new Map(rows.map((row) => [row.id, row.seenAt]));
}
