import type { RecordAnswer } from '../../http/http.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Task } from '../../tasks/tasks.ts';
import type { CatalogParts } from '../parts.ts';
import type { FullUpdateClosing } from './full-update-closing.ts';
import {
  type Batch,
  type BatchesState,
  discardOpen,
  type FullUpdate,
  listBatches,
  wasGivenUpSince,
} from './full-update-store.ts';

/** The open full update as it is shown. Source: docs/interface.md §4.4 rule 30. */
export async function describeOpen({ database }: Pick<CatalogParts, 'database'>, open: FullUpdate) {
  const batches = await listBatches(database.read, open);
  return {
    status: 'success' as const,
    fullUpdateId: open.id,
    batches: batches.length,
    products: batches.reduce((sum, { productCount }) => sum + productCount, 0),
    arriving: open.arriving,
    lastBatch: open.lastBatch,
    lastBatchAt: open.batchAt,
  };
}

/**
 * A connector that starts again wants to know of its commit.
 * @throws full_update_missing for one that was given up, full_update_started for a commit without effect, or forgotten
 */
export async function findStarted(
  { database, tasks }: Pick<CatalogParts, 'database' | 'tasks'>,
  update: FullUpdate & { readonly origin: string },
  commitTaskId: string,
): Promise<Task> {
  if (await wasGivenUpSince(database, update)) throw new ServiceError('full_update_missing');
  const task = await tasks.find(commitTaskId);
  const isWanted = task !== undefined && task.status !== 'FAILED' && task.status !== 'CANCELLED';
  if (!isWanted) throw new ServiceError('full_update_started', { values: [commitTaskId] });
  return task;
}

export interface GivenUp {
  readonly status: 'success';
  readonly fullUpdateId: number;
}

/** @throws full_update_missing when its commit began meanwhile */
export async function giveUp(
  { database }: Pick<CatalogParts, 'database'>,
  closing: FullUpdateClosing,
  { open, record }: { readonly open: FullUpdate; readonly record: RecordAnswer<GivenUp> },
): Promise<GivenUp> {
  const answer = { status: 'success', fullUpdateId: open.id } as const;
  if (!(await discardOpen(database, open, (tx) => record(tx, answer))))
    throw new ServiceError('full_update_missing');
  await closing.closeDiscarded(open.projectId);
  return answer;
}

/** The counts of batches and products that the caller knows to be accepted. */
export interface AcceptedCounts {
  readonly batches: number | undefined;
  readonly products: number | undefined;
}

/** @throws full_update_missing, full_update_other */
export function chooseOpen(latest: FullUpdate | undefined, wanted: number | undefined): FullUpdate {
  if (latest?.state !== 'open') throw new ServiceError('full_update_missing');
  if (wanted === undefined || wanted === latest.id) return latest;
  throw new ServiceError('full_update_other', { values: [latest.id, wanted] });
}

/**
 * Of work on what another call may discard meanwhile: it then fails, or finds nothing.
 * @throws what `getOpen` does, when it was discarded
 */
export async function whileOpen<Result>(
  work: Promise<Result>,
  getOpen: () => Promise<FullUpdate>,
): Promise<Result> {
  const result = await work.catch(async (error: unknown) => {
    // A payload that is gone went with its full update.
    if (!(error instanceof ServiceError) || error.code === 'payload_damaged') await getOpen();
    throw error;
  });
  await getOpen();
  return result;
}

/**
 * Whether a full update has all that was sent. The counts of a caller say that nothing is missing, whatever may have become of
 * other processes. @throws full_update_arriving, _batch_failed, _empty, _incomplete, _in_doubt
 */
export function refuseMissingBatches(
  { arriving, lastBatch }: BatchesState,
  accepted: readonly Batch[],
  counts: AcceptedCounts,
): void {
  const count =
    arriving === 1 ? '1 batch of the full update is' : `${arriving} batches of the full update are`;
  if (arriving > 0) throw new ServiceError('full_update_arriving', { values: [count], retryAfterSeconds: 1 });
  if (lastBatch === 'failed') throw new ServiceError('full_update_batch_failed');
  if (accepted.every(({ productCount }) => productCount === 0)) throw new ServiceError('full_update_empty');
  if (hasCounts(counts)) refuseOtherCounts(accepted, counts);
  else if (lastBatch === 'in doubt') throw new ServiceError('full_update_in_doubt');
}

export const hasCounts = ({ batches, products }: AcceptedCounts): boolean =>
  (batches ?? products) !== undefined;

/** @throws full_update_incomplete */
function refuseOtherCounts(accepted: readonly Batch[], counts: AcceptedCounts): void {
  const products = accepted.reduce((sum, { productCount }) => sum + productCount, 0);
  const compared = [
    ['batches', accepted.length, counts.batches],
    ['products', products, counts.products],
  ] as const;
  for (const [what, held, sent] of compared) {
    if (sent === undefined || sent === held) continue;
    throw new ServiceError('full_update_incomplete', { values: [held, what, sent] });
  }
}
