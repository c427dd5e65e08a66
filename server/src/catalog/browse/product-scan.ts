import type { Operation } from '../../storage/storage.ts';
import type { CatalogSnapshots } from '../snapshot.ts';
import {
  compileListFilter,
  type ListedRow,
  type ListForm,
  needsAttributes,
  type ProductFilter,
  planRange,
  toListItem,
  type UploadFront,
} from './product-list.ts';

/** Looking through products where no index helps: what the parsing threads do of it, a part at a time. */

export interface ScanOrder {
  readonly projectId: number;
  readonly filter: ProductFilter;
  readonly form: ListForm;
  /** The identifier of the last product scanned. */
  readonly after: string | undefined;
  /** Scans this many products, or fewer when `limit` are found. */
  readonly limit: number;
  readonly most: number;
}

export interface ScannedPart {
  readonly items: readonly object[];
  readonly scanned: number;
  /** The identifier of the last product scanned; undefined: there was none. */
  readonly last: string | undefined;
  readonly isEnd: boolean;
}

export type CountOrder = Pick<ScanOrder, 'projectId' | 'filter' | 'after'>;

const PAGE = 500;

export function scanOperations(snapshots: CatalogSnapshots): Record<string, Operation> {
  return {
    scanProducts: async (order: ScanOrder) => ({ output: await scanProducts(snapshots, order) }),
    countRange: async ({ projectId, filter, after }: CountOrder) => ({
      output: await snapshots.read(projectId, (snapshot) =>
        snapshot.countRange(planRange(filter.identifierPrefix, after)),
      ),
    }),
  };
}

function scanProducts(snapshots: CatalogSnapshots, order: ScanOrder): Promise<ScannedPart> {
  const { projectId, filter, form, limit, most } = order;
  const isWhole = form === 'upload' || needsAttributes(filter);
  const holds = compileListFilter(filter);
  return snapshots.read(projectId, async (snapshot) => {
    const items: object[] = [];
    let last = order.after;
    let scanned = 0;
    while (scanned < limit) {
      const range = { ...planRange(filter.identifierPrefix, last), limit: PAGE, isWhole };
      const rows = await snapshot.listRange(range);
      const used = takeHits(rows, { holds, form, items, most });
      scanned += used;
      last = rows[used - 1]?.identifier ?? last;
      if (used < rows.length || items.length === most) return { items, scanned, last, isEnd: false };
      if (rows.length < PAGE) return { items, scanned, last, isEnd: true };
    }
    return { items, scanned, last, isEnd: false };
  });
}

/** @returns how many rows were scanned */
function takeHits(
  rows: readonly ListedRow[],
  hits: { holds: (product: UploadFront) => boolean; form: ListForm; items: object[]; most: number },
): number {
  const { holds, form, items, most } = hits;
  for (const [at, row] of rows.entries()) {
    if (items.length === most) return at;
    const product = JSON.parse(row.text) as UploadFront;
    if (holds(product)) items.push(toListItem(row, form, product));
  }
  return rows.length;
}
