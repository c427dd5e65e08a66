import type { Filter } from '../../catalog/filters/filters.ts';
import type { TriedCatalog } from './surveyed-catalog.ts';

const PAGE = 1_000;
/** Uploads named by their identifiers that are read at once: each has up to 2 MB. */
export const UPLOADS_AT_ONCE = 16;

/** @param words products without any of them are left out */
export async function* readPages(catalog: Pick<TriedCatalog, 'listUploads'>, words?: UploadWords) {
  let page = await catalog.listUploads(0, PAGE);
  while (page.length > 0) {
    yield words === undefined ? page : page.filter(({ raw }) => hasAny(raw, words));
    page = await catalog.listUploads(page.at(-1)?.productId ?? 0, PAGE);
  }
}

/** Texts of which each relevant upload contains one; undefined: any upload may be relevant. */
export type UploadWords = readonly string[] | undefined;

/** @returns words that identify most irrelevant products without parsing them, which takes three quarters of reading */
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

/** @returns whether products with any of `b` are among those with any of `a` */
export const covers = (a: UploadWords, b: UploadWords): boolean =>
  a === undefined || (b?.every((word) => a.includes(word)) ?? false);

/** An escaped text may be any. */
const hasAny = (raw: string, words: readonly string[]): boolean =>
  words.some((word) => raw.includes(word)) || raw.includes('\\');
