import type { ThreadPool } from '../../storage/storage.ts';
import type { CountOrder, ScannedPart, ScanOrder } from './product-scan.ts';
import type { SurveyOrder, SurveyPart } from './survey.ts';

/**
 * Looking through catalogs, as the serving thread sees it: by one thread, which steps aside for all others, a part at a
 * time, so that the projects that wait get their turns. A `signal` takes back the part that still waits.
 */
export interface Scans {
  scanProducts(order: ScanOrder, signal: AbortSignal): Promise<ScannedPart>;
  /** @returns how many products the scan has before it, by the index */
  countRange(order: CountOrder, signal?: AbortSignal): Promise<number>;
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
    scanProducts: (order, signal) => run('scanProducts', order, signal),
    countRange: (order, signal) => run('countRange', order, signal),
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
