import type { Logger } from '../../kernel/logger.ts';
import type { CatalogStore } from '../port.ts';
import { createCategoryIndex } from './category-index.ts';
import { type CategoryPage, pageOfCategories, type WantedCategories } from './category-list.ts';
import {
  compileListFilter,
  keyOfCategory,
  type ListForm,
  needsAttributes,
  type ProductFilter,
  planRange,
  toListItem,
} from './product-list.ts';
import type { ScannedPart, ScanOrder } from './product-scan.ts';
import type { Scans } from './scan-client.ts';

/**
 * Lists of products. By identifier and by category they come from an index; by name and by attribute all products
 * are looked through, by threads, a part at a time, so that whoever asks hears how far it got and may go away.
 * Source: docs/interface.md §14.3.
 */
export interface ProductLists {
  page(projectId: number, query: WantedList, signal: AbortSignal): Promise<ListedPage>;
  /** @returns hits as they are found, with the progress of the scan; ends after `limit` hits or at the end of the catalog */
  follow(projectId: number, query: WantedList, signal: AbortSignal): AsyncGenerator<FoundPart, void>;
  /** @returns categories that hold products; `isComplete` false: those that the index knows so far */
  pageOfCategories(
    projectId: number,
    query: WantedCategories,
  ): Promise<CategoryPage & { readonly isComplete: boolean }>;
}

export interface WantedList {
  readonly filter: ProductFilter;
  readonly form: ListForm;
  readonly cursor: string | undefined;
  readonly limit: number;
}

export interface ListedPage {
  /** JSON each. */
  readonly items: readonly string[];
  readonly nextCursor: string | null;
}

export interface FoundPart {
  /** JSON each. */
  readonly items: readonly string[];
  readonly scanned: number;
  readonly of: number;
  /** Of the last part. */
  readonly nextCursor?: string | null;
}

/** Products scanned for one page: about 0.4 s. A page may have less than its limit, and the next one continues. */
const SCANNED_PER_PAGE = 20_000;
/** Looked through between two lines of progress: about 40 ms. */
const SCANNED_PER_PART = 2_000;
interface ListParts {
  readonly store: CatalogStore;
  readonly scans: Scans;
  readonly logger: Logger;
}

export function createProductLists({ store, scans, logger }: ListParts): ProductLists {
  const index = createCategoryIndex(store, logger);

  /** @returns the document after which a list continues in the index; undefined: the list does not use the index */
  async function placeInIndex(
    projectId: number,
    filter: ProductFilter,
    after: Place | undefined,
  ): Promise<number | undefined> {
    if (typeof after === 'number') {
      // What follows a page of the index is in the index too, once that is made.
      await index.complete(projectId);
      return after;
    }
    const isIndexed = after === undefined && isOnlyCategory(filter) && (await index.isReady(projectId));
    return isIndexed ? 0 : undefined;
  }

  return {
    async page(projectId, query, signal) {
      const { filter, form, cursor, limit } = query;
      const after = readCursor(cursor);
      const place = await placeInIndex(projectId, filter, after);
      if (place !== undefined) return pageOfCategory(store, { projectId, ...query }, place);
      const order = { projectId, filter, form, after: after as string | undefined };
      if (!isScanned(filter)) return pageOfRange(store, { ...order, limit });
      return toPage(await scans.scanProducts({ ...order, limit: SCANNED_PER_PAGE, most: limit }, signal));
    },
    async *follow(projectId, query, signal) {
      const { filter, form, cursor, limit } = query;
      const after = readCursor(cursor);
      const place = await placeInIndex(projectId, filter, after);
      if (place === undefined) {
        const order = { projectId, filter, form, after: after as string | undefined, limit };
        yield* scanInParts(scans, order, signal);
        return;
      }
      const { items, nextCursor } = await pageOfCategory(store, { projectId, ...query }, place);
      yield { items, scanned: items.length, of: items.length, nextCursor };
    },
    async pageOfCategories(projectId, query) {
      const isComplete = await index.isReady(projectId);
      return { ...(await pageOfCategories(store, projectId, query)), isComplete };
    },
  };
}

async function pageOfCategory(
  store: CatalogStore,
  { projectId, filter, form, limit }: WantedList & { readonly projectId: number },
  after: number,
): Promise<ListedPage> {
  const key = keyOfCategory(filter.category ?? []);
  const isWhole = form === 'upload';
  const query = { key, after, limit: limit + 1, isWhole };
  const { rows: found, reached } = await store.listCategory(projectId, query);
  const holds = compileListFilter(filter);
  const page = found.slice(0, limit);
  const items = page.flatMap((row) => {
    return holds(JSON.parse(row.text)) ? [toListItem(row, form)] : [];
  });
  const last = found.length > limit ? page.at(-1)?.document : reached;
  return { items, nextCursor: last === undefined ? null : cursorAt(last) };
}

/** A list in the order of identifiers. */
type RangeOrder = Omit<ScanOrder, 'most'>;

async function pageOfRange(
  store: CatalogStore,
  { projectId, filter, form, after, limit }: RangeOrder,
): Promise<ListedPage> {
  const range = planRange(filter.identifierPrefix, after);
  const wanted = { ...range, limit: limit + 1, isWhole: form === 'upload' };
  const { rows: found, isCut } = await store.listRange(projectId, wanted);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = (isCut || found.length > limit) && last ? cursorAt(last.identifier) : null;
  return { items: page.map((row) => toListItem(row, form)), nextCursor };
}

async function* scanInParts(
  scans: Scans,
  { limit, ...order }: RangeOrder,
  signal: AbortSignal,
): AsyncGenerator<FoundPart, void> {
  const of = await scans.countRange(order, signal);
  let scanned = 0;
  let { after } = order;
  for (let left = limit; ; ) {
    const part = await scans.scanProducts({ ...order, after, limit: SCANNED_PER_PART, most: left }, signal);
    scanned += part.scanned;
    left -= part.items.length;
    after = part.last;
    const { items, nextCursor } = toPage(part);
    const isOver = part.isEnd || left === 0;
    yield { items, scanned, of, ...(isOver && { nextCursor }) };
    if (isOver) return;
  }
}

const toPage = ({ items, last, isEnd }: ScannedPart): ListedPage => ({
  items,
  nextCursor: isEnd || last === undefined ? null : cursorAt(last),
});

/** Whether products are looked through, and not only read from an index of identifiers. */
export const isScanned = (filter: ProductFilter) =>
  filter.category !== undefined || filter.name !== undefined || needsAttributes(filter);

const isOnlyCategory = (filter: ProductFilter) =>
  filter.category !== undefined &&
  filter.name === undefined &&
  filter.identifierPrefix === undefined &&
  !needsAttributes(filter);

/** Behind which a page begins: an identifier, or in the index of categories a document. */
type Place = string | number;

const cursorAt = (place: Place): string =>
  Buffer.from(typeof place === 'number' ? `${IN_INDEX}${place}` : place).toString('base64url');

/** No identifier begins with it (§2.3 rule 9). */
const IN_INDEX = '\u0000';

function readCursor(cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, 'base64url').toString();
  return text.startsWith(IN_INDEX) ? Number(text.slice(1)) || 0 : text.replaceAll(IN_INDEX, '');
}
