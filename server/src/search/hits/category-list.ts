import type { Static } from 'typebox';
import type { CategoryPage as CategoryPageSchema } from '../../catalog/products/schemas/schemas.ts';
import type { Sent } from '../../http/server/server.ts';
import { lexemeOf } from '../words/words.ts';
import { type OpenIndex, readPlace, startPart, writePlace } from './search-index.ts';

/** Which categories to list. Source: docs/interface §14.3 rule 11. */
export interface CategoryQuestion {
  /** Only those below it; undefined: all. */
  readonly under: readonly string[] | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

export type CategoryPage = Sent<Static<typeof CategoryPageSchema>>;

/** A path, and the category at or below it whose path begins with it. */
interface Listed {
  readonly id: number;
  readonly path: readonly string[];
}

/** How many at a time are checked for products: at most 0.3 s. */
const COMPARED = 20;

/**
 * The catalog knows every path that a product has ever had; those without products now, according to the
 * index, are left out. A page ends early when its time is up.
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

/** A path of 20 levels is longer than any address, so a cursor names a category, and how many of its levels. */
async function findPlace({ snapshot }: OpenIndex, cursor: string): Promise<readonly string[]> {
  const [depth, id] = readPlace(cursor);
  return (await snapshot.findCategoryPath(id))?.slice(0, depth) ?? [];
}

/** @returns the paths of these categories in order, each after its ancestors that have not come before */
function listAbove(
  categories: readonly Listed[],
  { under, from }: { readonly under: readonly string[]; readonly from: readonly string[] },
): Listed[] {
  let before = from;
  return categories.flatMap(({ id, path }) => {
    const known = Math.max(countCommon(before, path), under.length);
    before = path;
    return path.slice(known).map((_, at) => ({ id, path: path.slice(0, known + at + 1) }));
  });
}

function countCommon(one: readonly string[], other: readonly string[]): number {
  const first = one.findIndex((name, at) => name !== other[at]);
  return first < 0 ? one.length : first;
}

/** @returns those that have a product, and those for which that is in doubt */
async function findLiving({ snapshot, tail, newer }: OpenIndex, listed: readonly Listed[]) {
  const lexemes = listed.map(({ path }) => lexemeOf.category(path));
  const living = new Set(await snapshot.findLiving({ lexemes, newer }));
  return listed.filter((_, at) => {
    const lexeme = lexemes[at] ?? '';
    return living.has(lexeme) || tail.some((one) => one.lexemes.has(lexeme));
  });
}
