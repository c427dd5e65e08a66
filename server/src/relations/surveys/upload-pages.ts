import type { Filter } from '../../catalog/filters/filters.ts';
import type { TriedCatalog } from './surveyed-catalog.ts';

const PAGE = 1_000;
/** How many uploads are read together by their identifiers. Each has up to 2 MB. */
export const UPLOADS_AT_ONCE = 16;

/** @param words products without any of these words are omitted */
export async function* readPages(catalog: Pick<TriedCatalog, 'listUploads'>, words?: UploadWords) {
  let page = await catalog.listUploads(0, PAGE);
  while (page.length > 0) {
    yield words === undefined ? page : page.filter(({ raw }) => hasAny(raw, words));
    page = await catalog.listUploads(page.at(-1)?.productId ?? 0, PAGE);
  }
}

/** Each relevant upload contains one of these texts. Undefined means that any upload may be relevant. */
export type UploadWords = readonly string[] | undefined;

/**
 * @returns words. Every relevant upload contains one of them, and most other uploads contain none. They save
 * parsing, which takes three quarters of the reading time.
 */
export const listWords = (...filters: readonly Filter[]): UploadWords =>
  filters.map(wordsOf).reduce(joinWords, []);

function wordsOf(filter: Filter): UploadWords {
  if ('category' in filter) {
    const name = filter.category.at(-1);
    return name === undefined ? undefined : [JSON.stringify(name)];
  }
  if ('all' in filter) return filter.all.map(wordsOf).find((words) => words !== undefined);
  if ('any' in filter) return listWords(...filter.any);
  return undefined;
}

const joinWords = (a: UploadWords, b: UploadWords): UploadWords =>
  a === undefined || b === undefined ? undefined : [...new Set([...a, ...b])];

/** @returns whether all products with any of `b` are among the products with any of `a` */
export const covers = (a: UploadWords, b: UploadWords): boolean =>
  a === undefined || (b?.every((word) => a.includes(word)) ?? false);

/** An upload with an escaped text always counts, because the escape may hide any word. */
const hasAny = (raw: string, words: readonly string[]): boolean =>
  words.some((word) => raw.includes(word)) || raw.includes('\\');
