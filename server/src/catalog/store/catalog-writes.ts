import { dropCatalogEvents } from '../../events/events.ts';
import type { Operation, Program, ThreadPool } from '../../storage/storage.ts';
import type { CatalogStore, ChangeOrder, OtherLast, RestoreResult } from '../port.ts';
import { type PackedProducts, transferOf } from '../products/products.ts';
import { commit } from './commit-store.ts';
import { replaceOntology, reserveIds } from './ontology-store.ts';
import { walkSearch } from './search-store.ts';
import { dropOutdated, keepSkipped, readStagedReports, reviewBatch } from './staged-store.ts';
import { applyOnce, type CatalogState, change } from './state-store.ts';
import { deleteProducts, restore } from './upkeep-store.ts';

/** The writes of a catalog store, done by its writing threads under the same names. */
export function createCatalogWrites(
  writers: ThreadPool,
): Pick<
  CatalogStore,
  | 'applyProducts'
  | 'collectGarbage'
  | 'commit'
  | 'deleteProducts'
  | 'dropEvents'
  | 'dropOutdated'
  | 'followOntology'
  | 'keepSkipped'
  | 'readStagedReports'
  | 'replaceOntology'
  | 'reserveIds'
  | 'restore'
  | 'reviewBatch'
  | 'stageBatch'
  | 'walkSearch'
> {
  /** Buffers of packed products are transferred. */
  const write = <Output>(operation: string, projectId: number, input: object) => {
    const transfer = 'packed' in input ? transferOf(input.packed as PackedProducts) : [];
    return writers.run<Output>(operation, { projectId, input }, { key: projectId, transfer });
  };
  return {
    applyProducts: (projectId, change) => write('applyProducts', projectId, change),
    collectGarbage: (projectId, limits) => write('collectGarbage', projectId, limits),
    commit: (projectId, order) => write('commit', projectId, order),
    deleteProducts: (projectId, change) => write('deleteProducts', projectId, change),
    dropEvents: (projectId, ids) => write('dropEvents', projectId, { ids }),
    dropOutdated: (projectId, staged) => write('dropOutdated', projectId, staged),
    followOntology: (projectId, followed) => write('followOntology', projectId, followed),
    keepSkipped: (projectId, kept) => write('keepSkipped', projectId, kept),
    readStagedReports: (projectId, place) => write('readStagedReports', projectId, place),
    replaceOntology: (projectId, wanted) => write('replaceOntology', projectId, wanted),
    reserveIds: (projectId, wanted) => write('reserveIds', projectId, wanted),
    async restore(projectId, change) {
      const { result } = await write<{ result: RestoreResult | OtherLast | null }>(
        'restore',
        projectId,
        change,
      );
      return result ?? undefined;
    },
    reviewBatch: (projectId, reviewed) => write('reviewBatch', projectId, reviewed),
    stageBatch: (projectId, staged) => write('stageBatch', projectId, staged),
    walkSearch: (projectId) => write('walkSearch', projectId, {}),
  };
}

/** @returns the bytes of products that a write brought in shared memory */
export const sharedBytesOf = (input: unknown): number =>
  (input as { packed?: PackedProducts }).packed?.bytes.length ?? 0;

/** Runs a program in one transaction. */
export type Transact = <Result>(projectId: number, program: Program<Result>) => Result | Promise<Result>;

/** The transactions of a store. */
export interface Transactions {
  readonly transaction: Transact;
  /** For what a loss of power may take, because it is done again. */
  readonly repeatable: Transact;
}

interface Order<Input> {
  readonly projectId: number;
  readonly input: Input;
}

/** The operations of the writing threads that are programs. */
export function programOperations({ transaction, repeatable }: Transactions): Record<string, Operation> {
  const changing =
    <Input>(work: (state: CatalogState, input: Input) => Program<unknown>, transact = transaction) =>
    async ({ projectId, input }: Order<Input>) => ({
      output: await transact(
        projectId,
        change((state) => work(state, input)),
      ),
    });
  const applying =
    <Input extends ChangeOrder>(
      work: (state: CatalogState, input: Input) => Program<{ result: object; isDone: boolean }>,
    ) =>
    async ({ projectId, input }: Order<Input>) => ({
      output: await transaction(
        projectId,
        applyOnce(input, (state) => work(state, input)),
      ),
    });
  return {
    commit: applying(commit),
    deleteProducts: applying(deleteProducts),
    // Without the catalog's lock: nothing that a reader sees changes.
    dropEvents: async ({ projectId, input }: Order<{ ids: readonly string[] }>) => ({
      output: await transaction(projectId, dropCatalogEvents(input.ids)),
    }),
    dropOutdated: changing(dropOutdated, repeatable),
    keepSkipped: changing(keepSkipped, repeatable),
    // Here, as a report is larger than what the serving thread should read at once.
    readStagedReports: changing(readStagedReports, repeatable),
    replaceOntology: changing(replaceOntology),
    reserveIds: changing(reserveIds, repeatable),
    restore: applying(restore),
    reviewBatch: changing(reviewBatch, repeatable),
    walkSearch: changing(walkSearch, repeatable),
  };
}
