import type { CatalogParts } from '../catalog-parts.ts';
import { listBatches } from './batch-store.ts';
import type { FullUpdateKey } from './full-update-store.ts';
import type { Staging } from './staging.ts';

/** No limit, because the limit of a stored body was checked when it arrived. */
const ANY_SIZE_MIB = 1024;

/** Stages the batches of a full update that are not staged yet. @returns the number of its batches */
export async function stageAccepted(
  { database, store }: Pick<CatalogParts, 'database' | 'store'>,
  staging: Staging,
  { projectId, id }: FullUpdateKey,
): Promise<number> {
  const batches = await listBatches(database.read, { id, projectId });
  const accepted = batches.map(({ batch, payloadName, encoding }) => ({
    batch,
    source: { handle: 0, payloadName, encoding, maxMib: ANY_SIZE_MIB, form: 'products' as const },
  }));
  await staging.complete(projectId, id, accepted);
  await store.keepSkipped(projectId, { fullUpdateId: id });
  return batches.length;
}
