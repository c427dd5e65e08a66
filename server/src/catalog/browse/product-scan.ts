import type { Operation } from '../../storage/storage.ts';
import type { CatalogSnapshots } from '../snapshot.ts';
import {
  compileListFilter,
  type ListedRow,
  type ListForm,
  needsAttributes,
  nextPage,
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
  /** JSON each. */
  readonly items: readonly string[];
  readonly scanned: number;
  /** The identifier of the last product scanned; undefined: there was none. */
  readonly last: string | undefined;
  readonly isEnd: boolean;
}

export type CountOrder = Pick<ScanOrder, 'projectId' | 'filter' | 'after'>;

const PAGE = 500;
/** A part ends early with so many characters found, or after so long: others wait for the thread. */
const FOUND_CHARACTERS = 4 * 1024 * 1024;
const LONGEST_MS = 500;

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
    const items: string[] = [];
    const isFull = createBounds(items, most);
    let last = order.after;
    let scanned = 0;
    let isEnd = false;
    let page = PAGE;
    while (scanned < limit && !isEnd && !isFull()) {
      const range = { ...planRange(filter.identifierPrefix, last), limit: page, isWhole };
      const { rows, isCut } = await snapshot.listRange(range);
      const used = takeHits(rows, { holds, form, items, most });
      scanned += used;
      last = rows[used - 1]?.identifier ?? last;
      isEnd = !isCut && rows.length < page && items.length < most;
      page = nextPage(PAGE, { rows, isCut });
    }
    return { items, scanned, last, isEnd };
  });
}

/** @returns whether a part has found enough, or took long enough */
function createBounds(items: readonly string[], most: number): () => boolean {
  const until = performance.now() + LONGEST_MS;
  let counted = 0;
  let characters = 0;
  return () => {
    for (; counted < items.length; counted += 1) characters += items[counted]?.length ?? 0;
    return items.length === most || characters > FOUND_CHARACTERS || performance.now() > until;
  };
}

/** @returns how many rows were scanned */
function takeHits(
  rows: readonly ListedRow[],
  hits: { holds: (product: UploadFront) => boolean; form: ListForm; items: string[]; most: number },
): number {
  const { holds, form, items, most } = hits;
  for (const [at, row] of rows.entries()) {
    if (items.length === most) return at;
    const product = JSON.parse(row.text) as UploadFront;
    if (holds(product)) items.push(toListItem(row, form));
  }
  return rows.length;
}
