import type { ThreadPool } from '../storage/storage.ts';
import type { CountOrder, ScannedPart, ScanOrder } from './product-scan.ts';

/** Looking through catalogs, as the serving thread sees it: by threads that step aside for all others. */
export interface Scans {
  scanProducts(order: ScanOrder): Promise<ScannedPart>;
  /** @returns how many products the scan has before it, by the index */
  countRange(order: CountOrder): Promise<number>;
}

export function createScans(threads: ThreadPool): Scans {
  const run = <Output>(operation: string, order: { readonly projectId: number }) =>
    threads.run<Output>(operation, order, { key: order.projectId, unordered: true });
  return {
    scanProducts: (order) => run('scanProducts', order),
    countRange: (order) => run('countRange', order),
  };
}
