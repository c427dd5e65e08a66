import { sql } from 'kysely';
import type { BodyEncoding, ControlTransaction, Database } from '../../storage/storage.ts';

export interface FullUpdate extends BatchesState {
  readonly id: number;
  readonly projectId: number;
  readonly state: 'open' | 'committing' | 'committed' | 'discarded';
  /** When it was opened or took its last batch. */
  readonly batchAt: number;
  readonly commitTaskId: string | undefined;
}

/** What a commit must know of batches that it would not hold. */
export interface BatchesState {
  readonly lastBatch: BatchState;
  /** Batches of which the body is not yet received and stored, at all processes. */
  readonly arriving: number;
}

/** `in doubt`: a process may have refused a batch without being able to store that. */
type BatchState = 'accepted' | 'failed' | 'in doubt';

export interface Batch {
  readonly batch: number;
  readonly taskId: string;
  readonly payloadName: string;
  readonly encoding: BodyEncoding;
  readonly productCount: number;
}

interface FullUpdateRow {
  id: number;
  project_id: number;
  state: string;
  last_batch_failed: number;
  batch_at: number;
  commit_task_id: string | null;
  arriving: number;
}

const COLUMNS = [
  ...(['id', 'project_id', 'state', 'last_batch_failed', 'batch_at', 'commit_task_id'] as const),
  sql<number>`(select count(*) from arriving_batch a where a.project_id = full_update.project_id
    and a.full_update_id = full_update.id)`.as('arriving'),
] as const;

const BATCH_STATES: readonly BatchState[] = ['accepted', 'failed', 'in doubt'];

const readFullUpdate = (row: FullUpdateRow): FullUpdate => ({
  id: row.id,
  projectId: row.project_id,
  state: row.state as FullUpdate['state'],
  lastBatch: BATCH_STATES[row.last_batch_failed] ?? 'failed',
  arriving: row.arriving,
  batchAt: row.batch_at,
  commitTaskId: row.commit_task_id ?? undefined,
});

/** Discards the open session and opens a new one. @returns its id */
export async function openFullUpdate(
  database: Database,
  opened: {
    projectId: number;
    origin: string;
    now: number;
    /** Written in the same transaction. */
    alongside: (tx: ControlTransaction, id: number) => Promise<void>;
  },
): Promise<number> {
  return database.write(
    async (tx) => {
      await tx
        .updateTable('full_update')
        .set({ state: 'discarded' })
        .where('project_id', '=', opened.projectId)
        .where('state', '=', 'open')
        .where('origin', '=', opened.origin)
        .execute();
      const { id } = await tx
        .insertInto('full_update')
        .values({
          project_id: opened.projectId,
          origin: opened.origin,
          state: 'open',
          created_at: opened.now,
          batch_at: opened.now,
        })
        .returning('id')
        .executeTakeFirstOrThrow();
      await opened.alongside(tx, id);
      return id;
    },
    { of: opened.projectId },
  );
}

/** @returns the newest full update of this origin that is open or was started, whatever became of its commit */
export async function findLatestFullUpdate(
  database: Database,
  wanted: { projectId: number; origin: string },
): Promise<FullUpdate | undefined> {
  const row = await database.read
    .selectFrom('full_update')
    .select(COLUMNS)
    .where('project_id', '=', wanted.projectId)
    .where('origin', '=', wanted.origin)
    .where((is) => is.or([is('state', '!=', 'discarded'), is('commit_task_id', 'is not', null)]))
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && readFullUpdate(row);
}

/** @returns whether it was still open */
export function discardOpen(
  database: Database,
  { id, projectId }: FullUpdateKey,
  alongside: (tx: ControlTransaction) => Promise<void>,
): Promise<boolean> {
  const discard = async (tx: ControlTransaction) => {
    const row = await tx
      .updateTable('full_update')
      .set({ state: 'discarded' })
      .where((is) => is.and({ project_id: projectId, id, state: 'open' }))
      .returning('id')
      .executeTakeFirst();
    if (row !== undefined) await alongside(tx);
    return row !== undefined;
  };
  return database.write(discard, { of: projectId });
}

/** Whether a later one was given up. */
export async function wasGivenUpSince(
  database: Database,
  { id, projectId, origin }: FullUpdateKey & { origin: string },
): Promise<boolean> {
  const row = await database.read
    .selectFrom('full_update')
    .select('id')
    .where('project_id', '=', projectId)
    .where('origin', '=', origin)
    .where('id', '>', id)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Which full update; ids are the service's, but its rows are kept by project. */
export type FullUpdateKey = Pick<FullUpdate, 'id' | 'projectId'>;

export async function findFullUpdate(
  database: Database,
  { id, projectId }: FullUpdateKey,
): Promise<FullUpdate | undefined> {
  const row = await database.read
    .selectFrom('full_update')
    .select(COLUMNS)
    .where('project_id', '=', projectId)
    .where('id', '=', id)
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

/** A batch whose body is on its way to a process. */
export interface ArrivingBatch extends FullUpdateKey {
  readonly processId: string;
  /** The process counts them. */
  readonly number: number;
}

export const keyOfArriving = ({ id, projectId, processId, number }: ArrivingBatch) => ({
  project_id: projectId,
  full_update_id: id,
  process_id: processId,
  number,
});

/** Before the full update of the batch is changed: others who change both lock them in this order. */
export async function removeArriving(tx: ControlTransaction, batch: ArrivingBatch): Promise<void> {
  await tx
    .deleteFrom('arriving_batch')
    .where((is) => is.and(keyOfArriving(batch)))
    .execute();
}

/** Adds a batch to an open full update. @returns its number; undefined when it is not open any more */
export async function addBatch(
  tx: ControlTransaction,
  added: {
    projectId: number;
    fullUpdateId: number;
    taskId: string;
    payloadName: string;
    encoding: string;
    productCount: number;
    now: number;
    /** How it was counted while it arrived; undefined: of a task, which sends one after another. */
    arriving: ArrivingBatch | undefined;
  },
): Promise<number | undefined> {
  if (added.arriving !== undefined) await removeArriving(tx, added.arriving);
  const open = await tx
    .updateTable('full_update')
    .set({ last_batch_failed: 0, batch_at: added.now })
    .where('project_id', '=', added.projectId)
    .where('id', '=', added.fullUpdateId)
    .where('state', '=', 'open')
    .returning('id')
    .executeTakeFirst();
  if (open === undefined) return undefined;
  const { batch } = await tx
    .insertInto('full_update_batch')
    .values(({ selectFrom }) => ({
      project_id: added.projectId,
      full_update_id: added.fullUpdateId,
      batch: selectFrom('full_update_batch')
        .select(sql<number>`coalesce(max(batch), 0) + 1`.as('next'))
        .where('project_id', '=', added.projectId)
        .where('full_update_id', '=', added.fullUpdateId),
      task_id: added.taskId,
      payload_name: added.payloadName,
      encoding: added.encoding,
      product_count: added.productCount,
    }))
    .returning('batch')
    .executeTakeFirstOrThrow();
  return batch;
}

export async function listBatches(
  read: Database['read'],
  { id, projectId }: FullUpdateKey,
): Promise<Batch[]> {
  const rows = await read
    .selectFrom('full_update_batch')
    .select(['batch', 'task_id', 'payload_name', 'encoding', 'product_count'])
    .where('project_id', '=', projectId)
    .where('full_update_id', '=', id)
    .orderBy('batch')
    .execute();
  return rows.map((row) => ({
    batch: row.batch,
    taskId: row.task_id,
    payloadName: row.payload_name,
    encoding: row.encoding as Batch['encoding'],
    productCount: row.product_count,
  }));
}

/**
 * No batch begins from here on until the transaction ends: `expectBatch` waits for the row.
 * @returns the full update whose commit begins now, as it is beside that; otherwise the task that began it before
 */
export async function beginCommit(
  tx: ControlTransaction,
  begun: { projectId: number; fullUpdateId: number; taskId: string },
): Promise<{ begun: FullUpdate } | { begun: undefined; commitTaskId: string | null }> {
  const row = await tx
    .updateTable('full_update')
    .set({ state: 'committing', commit_task_id: begun.taskId })
    .where('project_id', '=', begun.projectId)
    .where('id', '=', begun.fullUpdateId)
    .where('state', '=', 'open')
    .returning('id')
    .executeTakeFirst();
  // A statement of its own: one that waited for a row counts what was there before it waited.
  const present = await tx
    .selectFrom('full_update')
    .select(COLUMNS)
    .where('project_id', '=', begun.projectId)
    .where('id', '=', begun.fullUpdateId)
    .executeTakeFirst();
  if (row !== undefined && present !== undefined) return { begun: readFullUpdate(present) };
  return { begun: undefined, commitTaskId: present?.commit_task_id ?? null };
}

/** Ends a full update; its batches are forgotten. */
export async function closeFullUpdate(
  database: Database,
  { id, projectId }: FullUpdateKey,
  state: 'committed' | 'discarded',
): Promise<void> {
  await database.write(
    async (tx) => {
      await tx
        .updateTable('full_update')
        .set({ state })
        .where('project_id', '=', projectId)
        .where('id', '=', id)
        .execute();
      await tx
        .deleteFrom('full_update_batch')
        .where('project_id', '=', projectId)
        .where('full_update_id', '=', id)
        .execute();
    },
    { of: projectId },
  );
}

/** @returns full updates of all projects that take no batches any more and still have some */
export async function listUnclosed(database: Database): Promise<FullUpdate[]> {
  const rows = await database.read
    .selectFrom('full_update')
    .select(COLUMNS)
    .where('state', '!=', 'open')
    .where('id', 'in', database.read.selectFrom('full_update_batch').select('full_update_id'))
    .execute();
  return rows.map(readFullUpdate);
}

/** @returns the names of all payloads that open full updates still need */
export async function listBatchPayloads(database: Database): Promise<string[]> {
  const rows = await database.read.selectFrom('full_update_batch').select('payload_name').execute();
  return rows.map((row) => row.payload_name);
}
