import { ServiceError } from '../../kernel/errors.ts';
import { type Batch, countAccepted } from './batch-store.ts';
import type { AcceptedBatches, BatchesState } from './full-update-store.ts';

/** The numbers of accepted batches and products that the caller expects. */
export interface AcceptedCounts {
  readonly batches?: number;
  readonly products?: number;
}

export const hasCounts = ({ batches, products }: AcceptedCounts): boolean =>
  (batches ?? products) !== undefined;

/**
 * Refuses a full update that lacks a batch that was sent. The counts of the caller prove that nothing is missing,
 * even if other processes failed.
 * @throws full_update_arriving, _batch_failed, _empty, _incomplete, _in_doubt
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
  if (hasCounts(counts)) refuseOtherCounts(countAccepted(accepted), counts);
  else if (lastBatch === 'in doubt') throw new ServiceError('full_update_in_doubt');
}

/** @throws full_update_incomplete */
export function refuseOtherCounts(accepted: AcceptedBatches, counts: AcceptedCounts): void {
  for (const kind of ['batches', 'products'] as const) {
    const sent = counts[kind];
    if (sent === undefined || sent === accepted[kind]) continue;
    throw new ServiceError('full_update_incomplete', { values: [accepted[kind], kind, sent] });
  }
}
