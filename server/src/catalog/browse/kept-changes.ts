import type { Operation } from '../../storage/storage.ts';
import type { CatalogSnapshots, KeptPage } from '../port.ts';

/** Looking at what commits changed: a page, a product or a whole restore may have to read much of the undo log. */

export interface KeptChangesOrder extends KeptPage {
  readonly projectId: number;
}

export interface ProductChangesOrder {
  readonly projectId: number;
  readonly identifier: string;
}

export interface WeighOrder {
  readonly projectId: number;
  readonly commit: number;
}

export const keptOperations = (snapshots: CatalogSnapshots): Record<string, Operation> => ({
  listKeptChanges: async ({ projectId, ...page }: KeptChangesOrder) => ({
    output: await snapshots.read(projectId, (snapshot) => snapshot.listKeptChanges(page)),
  }),
  listProductChanges: async ({ projectId, identifier }: ProductChangesOrder) => ({
    output: await snapshots.read(projectId, (snapshot) => snapshot.listProductChanges(identifier)),
  }),
  weighRestore: async ({ projectId, commit }: WeighOrder) => ({
    output: await snapshots.read(projectId, (snapshot) => snapshot.weighRestore(commit)),
  }),
});
