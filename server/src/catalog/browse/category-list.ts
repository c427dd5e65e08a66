import { isStorableText } from '../../kernel/storable-text.ts';
import type { CatalogStore, ListedPath, LookedCategory } from '../port.ts';
import { beginBelow, readPath } from './category-path.ts';
import { READ_FOR_PAGE } from './category-walk.ts';
import { planRange } from './product-list.ts';

/** Categories of a catalog, out of its index of categories. Source: docs/interface.md §14.3. */

export interface WantedCategories {
  /** Only those below it; undefined: all. */
  readonly under: readonly string[] | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

export interface CategoryPage {
  readonly items: readonly { readonly path: readonly string[] }[];
  readonly nextCursor: string | null;
}

/** The newest row of a category usually leads to a product; this many rows of each category are read at once. */
const FIRST_LOOK = 20;
/** Rows read for a page of categories whose first rows lead to no product; about 60 ms. */
const LOOKED_FOR_PAGE = 20_000;
/** Categories whose rows are all read without a pause, on the serving thread. */
const LOOKED_AT_ONCE = 2;

export async function pageOfCategories(
  store: CatalogStore,
  projectId: number,
  { under, cursor, limit }: WantedCategories,
): Promise<CategoryPage> {
  if (under?.some((name) => !isStorableText(name))) return { items: [], nextCursor: null };
  const range = planRange(under && beginBelow(under), await findPlace(store, projectId, cursor));
  const found = await store.listCategoryPaths(projectId, { ...range, limit: limit + 1 });
  const page = found.slice(0, limit);
  const living = await findLiving(page, (keys, most) => store.lookIntoCategories(projectId, { keys, most }));
  const items = page.flatMap(({ path }, at) => (living[at] ? { path: readPath(path) } : []));
  const last = living.length < found.length ? page[living.length - 1] : undefined;
  return { items, nextCursor: last ? cursorAt(last) : null };
}

/** Characters of a path that a cursor holds; a path of 20 levels is longer than any address. */
const CURSOR_LENGTH = 300;

/** The path behind which a page begins, or its beginning and its key. */
function cursorAt({ key, path }: ListedPath): string {
  const begin = [...path].slice(0, CURSOR_LENGTH).join('');
  return Buffer.from(begin === path ? path : `${begin}\0${key}`).toString('base64url');
}

/** @returns the path of a cursor; its beginning, if the index does not know the key any more */
async function findPlace(store: CatalogStore, projectId: number, cursor = ''): Promise<string | undefined> {
  const [begin, key] = Buffer.from(cursor, 'base64url').toString().split('\0');
  const isKnown = key !== undefined && Number.isSafeInteger(Number(key));
  return (isKnown ? await store.findCategoryPath(projectId, Number(key)) : undefined) ?? begin;
}

type Look = (keys: readonly number[], most: number) => Promise<readonly LookedCategory[]>;

/**
 * Rows of documents that are gone stay in the index, so a category may have nothing but these.
 * @returns of each whether it holds a product, as far as one page looks; in doubt it does
 */
async function findLiving(page: readonly ListedPath[], look: Look): Promise<boolean[]> {
  const keys = page.map(({ key }) => key);
  const first = await look(keys, FIRST_LOOK);
  const living = first.map(({ isAlive }) => isAlive);
  const doubtful = [...first.keys()].filter((at) => !living[at] && first[at]?.looked === FIRST_LOOK);
  let left = LOOKED_FOR_PAGE;
  for (let next = 0; next < doubtful.length; next += LOOKED_AT_ONCE) {
    const places = doubtful.slice(next, next + LOOKED_AT_ONCE);
    if (left <= 0) return living.slice(0, places[0]);
    const looked = await look(
      places.map((at) => keys[at] ?? 0),
      READ_FOR_PAGE,
    );
    for (const [at, one] of looked.entries()) {
      left -= one.looked;
      living[places[at] ?? 0] = one.isAlive || one.looked === READ_FOR_PAGE;
    }
  }
  return living;
}
