import type { Static } from 'typebox';
import type { CategoryPage as CategoryPageSchema } from '../../catalog/products/schemas/schemas.ts';
import type { Sent } from '../../http/server/server.ts';
import { lexemeOf } from '../words/words.ts';
import { type OpenIndex, readPlace, startPart, writePlace } from './search-index.ts';

/** The categories to list. Source: docs/interface §14.3 rule 11. */
export interface CategoryQuestion {
  /** Lists only categories below this one; undefined: all. */
  readonly under: readonly string[] | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

export type CategoryPage = Sent<Static<typeof CategoryPageSchema>>;

/** A path, and a category whose path begins with it. */
interface Listed {
  readonly id: number;
  readonly path: readonly string[];
}

/** How many categories are checked for products together; this takes at most 0.3 s. */
const COMPARED = 20;

/**
 * Lists categories with products. The catalog has every path that a product has ever had, so paths without a product
 * in the index are skipped. A page ends early when its time is used up.
 */
export async function listCategories(
  index: OpenIndex,
  { under = [], cursor, limit }: CategoryQuestion,
): Promise<CategoryPage> {
  const isOver = startPart(index);
  const isComplete = index.newer === undefined;
  const from = cursor === undefined ? [] : await findPlace(index, cursor);
  const rows = await index.snapshot.listCategoryPaths({ under, after: from, limit: limit + 1 });
  const listed = listAbove(rows, { under, from });
  const page = listed.slice(0, limit);
  const items: { path: readonly string[] }[] = [];
  let done = 0;
  while (done < page.length && (done === 0 || !isOver())) {
    const some = page.slice(done, done + COMPARED);
    items.push(...(await findLiving(index, some)).map(({ path }) => ({ path })));
    done += some.length;
  }
  const last = page[done - 1];
  const nextCursor =
    last !== undefined && done < listed.length ? writePlace([last.path.length, last.id]) : null;
  return { items, nextCursor, isComplete };
}

/**
 * Reads a cursor, which is a category id and a number of levels. The path itself would not fit, because a path of 20
 * levels is longer than any address.
 */
async function findPlace({ snapshot }: OpenIndex, cursor: string): Promise<readonly string[]> {
  const [depth, id] = readPlace(cursor);
  return (await snapshot.findCategoryPath(id))?.slice(0, depth) ?? [];
}

/** @returns the paths of these categories in order, each after its ancestors, unless these came earlier */
function listAbove(
  categories: readonly Listed[],
  { under, from }: { readonly under: readonly string[]; readonly from: readonly string[] },
): Listed[] {
  let before = from;
  return categories.flatMap(({ id, path }) => {
    const commonLevels = Math.max(countCommonLevels(before, path), under.length);
    before = path;
    return path
      .slice(commonLevels)
      .map((_, index) => ({ id, path: path.slice(0, commonLevels + index + 1) }));
  });
}

function countCommonLevels(path: readonly string[], otherPath: readonly string[]): number {
  const first = path.findIndex((name, level) => name !== otherPath[level]);
  return first < 0 ? path.length : first;
}

/** @returns the categories that have a product, or that may have one */
async function findLiving({ snapshot, tail, newer }: OpenIndex, listed: readonly Listed[]) {
  const lexemes = listed.map(({ path }) => lexemeOf.category(path));
  const living = new Set(await snapshot.findLiving({ lexemes, newer }));
  return listed.filter((_, index) => {
    const lexeme = lexemes[index] ?? '';
    return living.has(lexeme) || tail.some((product) => product.lexemes.has(lexeme));
  });
}
