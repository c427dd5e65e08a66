import { ServiceError } from '../../kernel/errors.ts';
import type { CatalogParts } from '../parts.ts';
import type { FullUpdateClosing } from './full-update-closing.ts';
import { type Batch, discardOpen, type FullUpdate, listBatches } from './full-update-store.ts';

/** The open full update as it is shown. Source: docs/interface.md §4.4 rule 30. */
export async function describeOpen({ database }: Pick<CatalogParts, 'database'>, open: FullUpdate) {
  const batches = await listBatches(database, open);
  return {
    status: 'success' as const,
    fullUpdateId: open.id,
    batches: batches.length,
    products: batches.reduce((sum, { productCount }) => sum + productCount, 0),
    lastBatch: open.lastBatch,
    lastBatchAt: open.batchAt,
  };
}

/** @throws full_update_missing when its commit began meanwhile */
export async function giveUp(
  { database }: Pick<CatalogParts, 'database'>,
  closing: FullUpdateClosing,
  open: FullUpdate,
): Promise<void> {
  if (!(await discardOpen(database, open))) throw new ServiceError('full_update_missing');
  await closing.closeDiscarded(open.projectId);
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

/** Of work on bodies that another call may discard meanwhile. @throws what `getOpen` does, when it failed for that */
export async function whileOpen<Result>(
  work: Promise<Result>,
  getOpen: () => Promise<FullUpdate>,
): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ServiceError)) await getOpen();
    throw error;
  }
}

/** @throws full_update_incomplete */
export function refuseOtherCounts(accepted: readonly Batch[], counts: AcceptedCounts): void {
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
