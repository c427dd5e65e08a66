import type { Operation, ThreadPool } from '../../storage/threads/threads.ts';
import type { CatalogSnapshot, CatalogSnapshots } from '../port.ts';
import type { PageScans } from './product-page.ts';
import type { SurveyOrder, SurveyPart } from './survey.ts';

/** Of what commits changed: for a page, a product or a whole restore much of the undo log may have to be read. */
const LONG_READS = ['listKeptChanges', 'listProductChanges', 'weighRestore'] as const;
type LongRead = (typeof LONG_READS)[number];

/**
 * Scans of catalogs, as the serving thread sees them: by one thread, which steps aside for all others, a part at a
 * time, so that accounts that wait get their turns. A `signal` takes back the part that still waits.
 */
export interface Scans extends PageScans {
  countProducts(projectId: number): Promise<number>;
  read<Name extends LongRead>(
    name: Name,
    order: { readonly projectId: number; readonly input: Parameters<CatalogSnapshot[Name]>[0] },
    signal: AbortSignal,
  ): ReturnType<CatalogSnapshot[Name]>;
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
    read: (name, order, signal) => run(name, order, signal) as ReturnType<CatalogSnapshot[typeof name]>,
    makePage: (order, signal) => run('makePage', order, signal),
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

type Read = (input: never) => Promise<unknown>;

/** What the scanning thread reads at once. */
export const longReadOperations = (snapshots: CatalogSnapshots): Record<string, Operation> =>
  Object.fromEntries(
    LONG_READS.map((name) => [
      name,
      async ({ projectId, input }: { projectId: number; input: never }) => ({
        output: await snapshots.read(projectId, (snapshot) => (snapshot[name] as Read)(input)),
      }),
    ]),
  );
