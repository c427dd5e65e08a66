import { sql } from 'kysely';
import type { BodyEncoding } from '../../storage/payloads/payloads.ts';
import { areEqual, type ControlTransaction, control, type Database, toSnake } from '../../storage/storage.ts';
import {
  type AcceptedBatches,
  batchesOf,
  type ChosenSession,
  changeOpen,
  FAILED,
  type FullUpdateKey,
  ofCaller,
} from './full-update-store.ts';

export interface Batch {
  readonly batch: number;
  readonly taskId: string;
  readonly payloadName: string;
  readonly encoding: BodyEncoding;
  readonly productCount: number;
  /** The digest of the unpacked body; null if an earlier version accepted the batch. */
  readonly digest: string | null;
}

/**
 * Counts the accepted batches. A batch that repeats another one byte for byte counts once, because its caller
 * received no answer to the first one.
 */
export function countAccepted(batches: readonly Pick<Batch, 'batch' | 'digest' | 'productCount'>[]) {
  const distinct = new Map(batches.map((batch) => [batch.digest ?? batch.batch, batch.productCount]));
  const products = distinct.values().reduce((sum, count) => sum + count, 0);
  return { batches: distinct.size, products } satisfies AcceptedBatches;
}

/** A batch whose body is being received by a process. */
export interface ArrivingBatch extends FullUpdateKey {
  readonly processId: string;
  /** The number of the batch at its process. */
  readonly number: number;
}

export const keyOfArriving = ({ processId, number, ...key }: ArrivingBatch) => ({
  ...batchesOf(key),
  processId,
  number,
});

/** Call it before changing the full update of the batch, because other transactions lock both in this order. */
const removeArriving = (tx: ControlTransaction, batch: ArrivingBatch) =>
  control.remove(tx, 'arriving_batch', keyOfArriving(batch));

/** Adds a batch to an open full update. @returns its number; undefined if the full update is no longer open */
export async function addBatch(
  tx: ControlTransaction,
  key: FullUpdateKey,
  {
    arriving,
    now,
    ...added
  }: Omit<Batch, 'batch'> & {
    now: number;
    /** The counted batch; undefined for a task, which sends one batch after another. */
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
 * Counts a batch that is about to be read, so that a commit waits for it.
 * @returns the batch of the open full update; undefined if no full update is open
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
      // With the lock, a commit that begins now waits and counts the batch, or the batch waits and finds no open full
      // update.
      .$if(database.isShared, (query) => query.forShare())
      .executeTakeFirst();
    if (open === undefined) return undefined;
    const batch = { id: open.id, projectId, processId, number };
    await control.insert(tx, 'arriving_batch', { ...keyOfArriving(batch), afterBatchAt: open.batch_at });
    return batch;
  });
}

/** Ends the count of a batch that failed, or that an earlier request had accepted. */
export const endExpected = (database: Database, batch: ArrivingBatch, hasFailed: boolean): Promise<void> =>
  database.write('rows', async (tx) => {
    await removeArriving(tx, batch);
    if (hasFailed) await changeOpen(tx, batch, { lastBatchFailed: FAILED });
  });
