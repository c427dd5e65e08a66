import type { Attribute } from '../../catalog/ontology/ontology.ts';
import { ServiceError } from '../../kernel/errors.ts';

export interface Sorting {
  /** In the form of `sort` of §4.13. */
  readonly key: string;
  readonly name: string;
  readonly type: 'ATTRIBUTE';
  readonly sort: 'ASC' | 'DESC';
}

export const languageOf = (locale: string) => (locale.toLowerCase().startsWith('de') ? 'de' : 'en');
const PRICES = ['price', 'preis'];
const BY_NAME = ['Name A–Z', 'Name Z–A'] as const;
const BY_PRICE = {
  en: ['Price ascending', 'Price descending'],
  de: ['Preis aufsteigend', 'Preis absteigend'],
} as const;

/**
 * Lists the sortings by name, and by price if the project has a price attribute: the one of its setting, or one with
 * a usual name.
 */
export function listSortings(
  byKey: ReadonlyMap<string, Attribute>,
  priceAttribute: string,
  language: 'de' | 'en',
) {
  const price =
    byKey.get(priceAttribute) ?? byKey.values().find(({ name }) => PRICES.includes(name.toLowerCase()));
  const of = (key: string, [up, down]: readonly [string, string]): Sorting[] => [
    { key, name: up, type: 'ATTRIBUTE', sort: 'ASC' },
    { key: `${key}:desc`, name: down, type: 'ATTRIBUTE', sort: 'DESC' },
  ];
  return [...(price ? of(price.name, BY_PRICE[language]) : []), ...of('name', BY_NAME)];
}

interface SortQuestion {
  readonly sort: string | undefined;
  readonly locale: string;
  readonly priceAttribute: string;
}

/** The names that connectors use for the order by relevance. */
const RELEVANCE = ['', 'score', '_score', 'relevance', 'relevanz'];

/**
 * Finds a sorting by its name in either language, because a bookmarked page keeps the name in its language.
 * @throws query_invalid
 */
export function findSorting(
  { sort, locale, priceAttribute }: SortQuestion,
  byKey: ReadonlyMap<string, Attribute>,
): Sorting | undefined {
  const lower = (sort ?? '').trim().toLowerCase().replace(/:asc$/, '');
  if (RELEVANCE.includes(lower)) return undefined;
  const own = listSortings(byKey, priceAttribute, languageOf(locale));
  const names = (['de', 'en'] as const).map((language) => listSortings(byKey, priceAttribute, language));
  const sorting = own.find((candidate, index) =>
    [candidate.key, ...names.map((list) => list[index]?.name ?? '')].some(
      (name) => name.toLowerCase() === lower,
    ),
  );
  if (sorting !== undefined) return sorting;
  throw new ServiceError('query_invalid', `/sort must be one of ${own.map(({ key }) => key).join(', ')}`);
}
