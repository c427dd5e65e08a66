import type { Operation, ThreadPool } from '../../storage/threads/threads.ts';
import type { CatalogSnapshots, KeptChange, KeptPage, ProductChange, RestoreEffect } from '../port.ts';
import type { PageScans } from './product-page.ts';
import type { SurveyOrder, SurveyPart } from './survey.ts';

interface KeptChangesOrder extends KeptPage {
  readonly projectId: number;
}

interface ProductChangesOrder {
  readonly projectId: number;
  readonly identifier: string;
}

interface WeighOrder {
  readonly projectId: number;
  readonly commit: number;
}

/**
 * Scans of catalogs, as the serving thread sees them: by one thread, which steps aside for all others, a part at a
 * time, so that accounts that wait get their turns. A `signal` takes back the part that still waits.
 */
export interface Scans extends PageScans {
  countProducts(projectId: number): Promise<number>;
  /** @returns undefined for a commit that is not kept */
  listKeptChanges(order: KeptChangesOrder, signal: AbortSignal): Promise<readonly KeptChange[] | undefined>;
  /** @returns the changes of one product by commit, the last one first */
  listProductChanges(order: ProductChangesOrder, signal: AbortSignal): Promise<readonly ProductChange[]>;
  /** What a restore down to a commit would do. @returns undefined for one that is not kept */
  weighRestore(order: WeighOrder, signal: AbortSignal): Promise<RestoreEffect | undefined>;
  /** Counts part by part, until the caller stops iterating. @throws request_invalid */
  survey(
    order: Pick<SurveyOrder, 'projectId' | 'question' | 'isWhole'>,
    signal: AbortSignal,
  ): AsyncGenerator<SurveyPart, void>;
}

/** @param threads a pool of one: it keeps what a survey has counted */
export function createScans(threads: ThreadPool): Scans {
  let nextHandle = 1;
  const run = <Output>(
    operation: string,
    order: { readonly projectId: number } & object,
    signal?: AbortSignal,
  ) => threads.run<Output>(operation, order, { key: order.projectId, unordered: true, signal });
  return {
    countProducts: (projectId) => run('countProducts', { projectId }),
    listKeptChanges: (order, signal) => run('listKeptChanges', order, signal),
    listProductChanges: (order, signal) => run('listProductChanges', order, signal),
    makePage: (order, signal) => run('makePage', order, signal),
    weighRestore: (order, signal) => run('weighRestore', order, signal),
    async *survey(order, signal) {
      const handle = nextHandle++;
      try {
        for (let isFirst = true; ; isFirst = false) {
          const part = await run<SurveyPart>('survey', { ...order, ...{ handle, isFirst } }, signal);
          yield part;
          if (part.result !== undefined) return;
        }
      } finally {
        await run('endSurvey', { ...order, ...{ handle } });
      }
    },
  };
}

/** What commits changed: for a page, a product or a whole restore much of the undo log may have to be read. */
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
