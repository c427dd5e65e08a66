import type { FoundGroups } from '../hits/hits.ts';
import { listWords } from '../words/words.ts';
import { describeExtent, NAMES } from './shop-answer.ts';
import { ITEMS, writeAnswer, writeItems } from './shop-items.ts';
import { LEVEL, type ShopQuestion, type SuggestionLimits } from './shop-plan.ts';

/** Suggestions while a shopper types. Source: docs/interface §4.14. */

const BRANDS = ['brand', 'marke', 'hersteller', 'manufacturer'];
/** Fields of suggestions that are not products. */
const WITHOUT_PAGE = { link: '', image: '' };

/** @returns JSON */
export function answerSuggestions(
  question: ShopQuestion & { readonly suggested: SuggestionLimits },
  groups: FoundGroups,
): string {
  const { suggested, query } = question;
  const words = listWords(query);
  const isBegun = (name: string) =>
    listWords(name).some((word) => words.some((begun) => word.startsWith(begun)));
  /** Suggestions whose own name matches come first. */
  const choose = <One extends { readonly name: string }>(all: readonly One[], limit: number) =>
    [...all].sort((a, b) => Number(isBegun(b.name)) - Number(isBegun(a.name))).slice(0, limit);
  const categories = groups.categories.map(({ path, count }) => ({
    name: path.at(-1) ?? '',
    path,
    query: `_#${path.join(LEVEL)}`,
    ...WITHOUT_PAGE,
    count,
  }));
  const brand = groups.facets.find(({ attribute }) => BRANDS.includes(attribute.toLowerCase()));
  const brands = (brand?.values ?? []).map(({ value: name, count }) => ({ name, ...WITHOUT_PAGE, count }));
  const blocks = [
    { type: 'products' as const, totalResults: groups.total, results: ITEMS },
    { type: 'categories', totalResults: categories.length, results: choose(categories, suggested.category) },
    { type: 'brands', totalResults: brands.length, results: choose(brands, suggested.brand) },
    listSearches(groups, { words, limit: suggested.search }),
  ] as const;
  const named = blocks.map(({ type, ...block }) => ({ type, name: NAMES[type], ...block }));
  const answer = {
    status: 'success' as const,
    query,
    totalResults: groups.total,
    resultGroups: Object.fromEntries(named.map(({ name, results }) => [name, results])),
    searchResults: named,
    ...describeExtent(groups),
  };
  return writeAnswer(answer, writeItems({ ...groups, groups: groups.groups.slice(0, suggested.product) }, 0));
}

/** Completes the last word from the names of the hits. */
function listSearches(
  { rows }: FoundGroups,
  { words, limit }: { readonly words: readonly string[]; readonly limit: number },
) {
  const last = words.at(-1) ?? '';
  const counts = new Map<string, number>();
  for (const { product } of rows.values()) {
    const ofName = new Set(listWords(product.name));
    for (const word of ofName)
      if (last !== '' && word !== last && word.startsWith(last))
        counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const completed = [...counts].sort(([a, count], [b, otherCount]) => otherCount - count || (a < b ? -1 : 1));
  const results = completed.map(([word, count]) => ({
    name: [...words.slice(0, -1), word].join(' '),
    ...WITHOUT_PAGE,
    count,
  }));
  return { type: 'searches' as const, totalResults: results.length, results: results.slice(0, limit) };
}
