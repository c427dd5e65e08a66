import type { ThreadPool } from '../../storage/storage.ts';
import type { CatalogStore, RestoreResult } from '../port.ts';
import { type PackedProducts, transferOf } from '../products/products.ts';

/** The writes of a catalog store, done by its writing threads under the same names. */
export function createCatalogWrites(
  writers: ThreadPool,
): Pick<
  CatalogStore,
  | 'applyProducts'
  | 'collectGarbage'
  | 'commit'
  | 'deleteProducts'
  | 'followOntology'
  | 'replaceOntology'
  | 'reserveIds'
  | 'restore'
  | 'reviewBatch'
  | 'stageBatch'
  | 'walkCategories'
> {
  /** Buffers of packed products are handed over. */
  const write = <Output>(operation: string, projectId: number, input: object) => {
    const transfer = 'packed' in input ? transferOf(input.packed as PackedProducts) : [];
    return writers.run<Output>(operation, { projectId, input }, { key: projectId, transfer });
  };
  return {
    applyProducts: (projectId, change) => write('applyProducts', projectId, change),
    collectGarbage: (projectId, limits) => write('collectGarbage', projectId, limits),
    commit: (projectId, order) => write('commit', projectId, order),
    deleteProducts: (projectId, change) => write('deleteProducts', projectId, change),
    followOntology: (projectId, followed) => write('followOntology', projectId, followed),
    replaceOntology: (projectId, wanted) => write('replaceOntology', projectId, wanted),
    reserveIds: (projectId, wanted) => write('reserveIds', projectId, wanted),
    async restore(projectId, change) {
      const { result } = await write<{ result: RestoreResult | null }>('restore', projectId, change);
      return result ?? undefined;
    },
    reviewBatch: (projectId, reviewed) => write('reviewBatch', projectId, reviewed),
    stageBatch: (projectId, staged) => write('stageBatch', projectId, staged),
    walkCategories: (projectId) => write('walkCategories', projectId, {}),
  };
}
