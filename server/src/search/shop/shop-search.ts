import { randomUUID } from 'node:crypto';
import type { CatalogSnapshot, PlacedRow } from '../../catalog/catalog.ts';
import type { Filter } from '../../catalog/filters/filters.ts';
import { makeDataPoint, makeItem } from '../../catalog/lookup/lookup.ts';
import { type Attribute, isFact, readMeasure } from '../../catalog/ontology/ontology.ts';
import { mainCategory, type UploadedProduct } from '../../catalog/products/products.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { SearchQuestion } from '../hits/hits.ts';
import type { Facet } from '../search-schemas.ts';
import { listWords } from '../words/words.ts';

/** The search of shop connectors: what they send, and what they read. Source: docs/interface §4.14. */
export interface ShopQuestion extends Pick<SearchQuestion, 'named'> {
  /** Words; `*` for all products, `_#Tools#Drills` for a category. */
  readonly query: string;
  readonly offset: number;
  readonly limit: number;
  readonly filters: readonly ShopFilter[];
  /** The key or the name of a sorting option. */
  readonly sort: string | undefined;
  /** The locale of the project; in German ones names are German. */
  readonly locale: string;
  /** The attribute of prices, a setting of the project. */
  readonly priceAttribute: string;
  /** In addition to the filters: the language of filters as JSON. */
  readonly filter?: string | undefined;
  /** How many suggestions of each kind; undefined: a search. */
  readonly suggested?: SuggestionLimits | undefined;
}

export type ShopFilter = { readonly name: string } & (
  | { readonly values: readonly string[] }
  | { readonly min: number; readonly max: number }
);

export type SuggestionLimits = Readonly<Record<'product' | 'category' | 'brand' | 'search', number>>;

/** A product of the page, parsed once for the whole answer. */
export interface ShownProduct extends PlacedRow {
  readonly product: UploadedProduct;
}

/** Hits by group, with what the answer is made from. */
export interface FoundGroups {
  /** Documents of the groups of the page. */
  readonly groups: readonly (readonly number[])[];
  readonly rows: ReadonlyMap<number, ShownProduct>;
  /** Groups, and the hits in them. */
  readonly total: number;
  readonly hits: number;
  /** False: both are estimates. */
  readonly isTotalExact: boolean;
  readonly facets: readonly Facet[];
  /** How many of the hits the facets and the categories are counted in. */
  readonly facetsOf: number;
  readonly categories: readonly CountedCategory[];
  readonly byKey: ReadonlyMap<string, Attribute>;
  /** The ids of categories, by path as JSON. */
  readonly categoryIds: ReadonlyMap<string, number>;
  readonly isPartial: boolean;
}

interface CountedCategory {
  readonly path: readonly string[];
  readonly count: number;
}

/** Main categories of hits, with their ancestors. */
export class CategoryTally {
  private readonly counts = new Map<string, { path: readonly string[]; count: number }>();

  add({ categories }: Pick<UploadedProduct, 'categories'>): void {
    const path = mainCategory(categories)?.path ?? [];
    for (let depth = 1; depth <= path.length; depth += 1) {
      const above = path.slice(0, depth);
      this.counts.getOrInsertComputed(JSON.stringify(above), () => ({ path: above, count: 0 })).count += 1;
    }
  }

  list(): readonly CountedCategory[] {
    return [...this.counts.values()].sort((a, b) => b.count - a.count);
  }
}

/** @returns paths as JSON, the form in which the catalog finds their ids */
export function listMainPaths(rows: Iterable<ShownProduct>): string[] {
  const paths = new Set<string>();
  for (const { product } of rows) {
    const main = mainCategory(product.categories);
    if (main !== undefined) paths.add(JSON.stringify(main.path));
  }
  return [...paths];
}

const CATEGORY = { key: 'category', names: ['category', 'kategorie', 'categories', 'kategorien'] };
const isOfCategory = ({ name }: ShopFilter) => CATEGORY.names.includes(name.toLowerCase());
/** Separates the levels of a category, as connectors write them. */
const LEVEL = '#';

/** @returns the paths that a filter with only a category's name means */
export async function listNamedCategories(
  snapshot: CatalogSnapshot,
  { filters }: Pick<ShopQuestion, 'filters'>,
): Promise<readonly (readonly string[])[]> {
  const names = filters.filter(isOfCategory).flatMap((one) => ('values' in one ? one.values : []));
  if (names.length === 0) return [];
  const listed = await snapshot.listCategoryPaths({ under: [], after: [], limit: 5_000 });
  const paths = new Map<string, readonly string[]>();
  for (const { path } of listed)
    for (const [at, name] of path.entries())
      if (names.includes(name)) paths.set(path.slice(0, at + 1).join(LEVEL), path.slice(0, at + 1));
  return [...paths.values()];
}

type KnownNames = Pick<FoundGroups, 'byKey'> & { readonly categories: readonly (readonly string[])[] };

/** @throws query_invalid for a filter or an order by an unknown attribute */
export function planShopSearch(
  question: ShopQuestion,
  known: KnownNames,
): { readonly question: SearchQuestion; readonly sorting: Sorting | undefined } {
  const sorting = findSorting(question, known.byKey);
  const words = question.query.trim();
  const category = words.startsWith('_#') ? words.slice(2).split(LEVEL).filter(Boolean) : [];
  const narrowed = question.filter === undefined ? [] : [JSON.parse(question.filter) as Filter];
  const filter: Filter = { all: [...question.filters.map((one) => toFilter(one, known)), ...narrowed] };
  return {
    sorting,
    question: {
      q: category.length > 0 || words === '*' ? '' : words,
      ...(category.length > 0 && { category }),
      filter: JSON.stringify(filter),
      sort: sorting?.key,
      named: question.named,
      limit: question.limit,
    },
  };
}

function toFilter(one: ShopFilter, { byKey, categories }: KnownNames): Filter {
  if (isOfCategory(one) && 'values' in one) {
    const paths = one.values.flatMap((value) => {
      const named = categories.filter((path) => path.at(-1) === value);
      return named.length > 0 ? named : [value.split(LEVEL).filter(Boolean)];
    });
    return { any: paths.filter((path) => path.length > 0).map((path) => ({ category: [...path] })) };
  }
  const attribute = findAttribute(one.name, byKey);
  const { name } = attribute;
  if ('values' in one) {
    const values = one.values.map((value) => toOperand(value, attribute));
    return { any: values.map((value) => ({ attribute: name, operator: 'equals', value })) };
  }
  return { attribute: name, operator: 'between', value: [one.min, one.max] };
}

/** An uploaded value, of a type whose operands are not texts. */
function toOperand(value: string, attribute: Attribute): string | number | boolean {
  if (attribute.type === 'BOOLEAN_ATTRIBUTE') return /^(true|yes|ja|1)$/i.test(value);
  const measure = attribute.type === 'NUMERIC_ATTRIBUTE' ? readMeasure(value, attribute) : undefined;
  return measure !== undefined && 'plain' in measure ? Number(measure.plain) : value;
}

/** @throws query_invalid */
function findAttribute(name: string, byKey: ReadonlyMap<string, Attribute>): Attribute {
  const lower = name.toLowerCase();
  const found = byKey.get(name) ?? byKey.values().find((one) => one.name.toLowerCase() === lower);
  if (found !== undefined) return found;
  throw new ServiceError(
    'query_invalid',
    `/filters has ${JSON.stringify(name)}, and there is no such attribute`,
  );
}

export interface Sorting {
  /** As `sort` of §4.13. */
  readonly key: string;
  readonly name: string;
  readonly type: 'ATTRIBUTE';
  readonly sort: 'ASC' | 'DESC';
}

const languageOf = (locale: string) => (locale.toLowerCase().startsWith('de') ? 'de' : 'en');
const PRICES = ['price', 'preis'];
const BY_NAME = ['Name A–Z', 'Name Z–A'] as const;
const BY_PRICE = {
  en: ['Price ascending', 'Price descending'],
  de: ['Preis aufsteigend', 'Preis absteigend'],
} as const;

/** By price, if there is the attribute of the project's setting or one with a usual name, and by name. */
function listSortings(byKey: ReadonlyMap<string, Attribute>, priceAttribute: string, language: 'de' | 'en') {
  const price =
    byKey.get(priceAttribute) ?? byKey.values().find(({ name }) => PRICES.includes(name.toLowerCase()));
  const of = (key: string, [up, down]: readonly [string, string]): Sorting[] => [
    { key, name: up, type: 'ATTRIBUTE', sort: 'ASC' },
    { key: `${key}:desc`, name: down, type: 'ATTRIBUTE', sort: 'DESC' },
  ];
  return [...(price ? of(price.name, BY_PRICE[language]) : []), ...of('name', BY_NAME)];
}

/** Connectors' names for the order by relevance. */
const RELEVANCE = ['', 'score', '_score', 'relevance', 'relevanz'];

/** Names in either language are known, as a bookmarked page keeps its own. @throws query_invalid */
function findSorting(
  { sort, locale, priceAttribute }: Pick<ShopQuestion, 'sort' | 'locale' | 'priceAttribute'>,
  byKey: ReadonlyMap<string, Attribute>,
): Sorting | undefined {
  const lower = (sort ?? '').trim().toLowerCase().replace(/:asc$/, '');
  if (RELEVANCE.includes(lower)) return undefined;
  const own = listSortings(byKey, priceAttribute, languageOf(locale));
  const names = (['de', 'en'] as const).map((one) => listSortings(byKey, priceAttribute, one));
  const found = own.find((one, at) =>
    [one.key, ...names.map((list) => list[at]?.name ?? '')].some((name) => name.toLowerCase() === lower),
  );
  if (found !== undefined) return found;
  throw new ServiceError('query_invalid', `/sort must be one of ${own.map(({ key }) => key).join(', ')}`);
}

/** Placeholder for the items of an answer, which are JSON already. */
const ITEMS = randomUUID();

/** @returns JSON of an answer with its items */
const writeAnswer = (answer: object, items: string): string =>
  JSON.stringify(answer).replaceAll(`"${ITEMS}"`, () => items);

/** @returns JSON: one list of items per group, with the best first as its head */
function writeItems({ groups, rows, byKey, categoryIds }: FoundGroups, offset: number): string {
  const settings = {
    form: 'bulk' as const,
    brandAttribute: '',
    attributes: new Map<string, Attribute>(),
    categoryIdOf: (path: string) => categoryIds.get(path) ?? 0,
  };
  const insertPoints = openPoints(byKey);
  let relevance = 1_000_000 - offset;
  const written = groups.map((documents) => {
    const items = documents.flatMap((document, at) => {
      const row = rows.get(document);
      if (row === undefined) return [];
      const item = makeItem(row.id, row.product, settings);
      const placed = { ...item, head: at === 0, resultSet: null, relevance: relevance-- };
      return insertPoints(JSON.stringify(placed), row.product);
    });
    return `[${items.join(',')}]`;
  });
  return `[${written.join(',')}]`;
}

const POINTS = '"dataPoints":[';

/** Data points as JSON: most are shared by many products of an answer, and writing them takes half of its time. */
function openPoints(byKey: ReadonlyMap<string, Attribute>) {
  const texts = new Map<Attribute, Map<string, string>>();
  /** @returns nothing for a value that makes no fact */
  const write = (key: string, value: string): string => {
    const attribute = byKey.get(key);
    if (attribute === undefined) return '';
    const ofAttribute = texts.getOrInsertComputed(attribute, () => new Map<string, string>());
    return ofAttribute.getOrInsertComputed(value, () =>
      isFact(value, attribute) ? JSON.stringify(makeDataPoint(attribute, value)) : '',
    );
  };
  /** @returns the item, which has at most the point of its category, with those of its values inserted before */
  return (item: string, { attributes }: UploadedProduct): string => {
    const points = new Set(attributes.flatMap(({ key, value }) => write(key, value) || []));
    const at = item.indexOf(POINTS) + POINTS.length;
    const comma = points.size === 0 || item[at] === ']' ? '' : ',';
    return `${item.slice(0, at)}${[...points].join(',')}${comma}${item.slice(at)}`;
  };
}

/** @returns JSON */
export function answerShopSearch(question: ShopQuestion, sorting: Sorting | undefined, found: FoundGroups) {
  const totals = {
    totalResults: found.total,
    totalResultsVariants: found.hits,
    totalResultsHead: found.total,
    totalResultsHeadVariants: found.hits,
  };
  const products = { type: 'products', name: NAMES.products, ...totals };
  const answer = {
    status: 'success' as const,
    totalResults: found.total,
    searchResults: [{ ...products, results: ITEMS }],
    // An object, the only form that Shopware 6 accepts.
    interpretedQuery: { original: question.query, corrected: question.query, queryWasCorrected: false },
    answerText: '',
    filterOptions: [...describeTree(found.categories, question.locale), ...describeFacets(found)],
    activeFilterOptions: question.filters.map((one) => describeActive(one, found.byKey)),
    sortingOptions: listSortings(found.byKey, question.priceAttribute, languageOf(question.locale)),
    activeSortingOption: sorting === undefined ? {} : { ...sorting, direction: sorting.sort },
    redirect: null,
    ...describeExtent(found),
  };
  return writeAnswer(answer, writeItems(found, question.offset));
}

/** Marks totals that are estimates, and counts of only some of the hits. */
const describeExtent = ({ isTotalExact, facetsOf, hits, isPartial }: FoundGroups) => ({
  ...(!isTotalExact && { isTotalExact }),
  ...(facetsOf < hits && { facetsOf }),
  ...(isPartial && { partial: true }),
});

function describeActive(one: ShopFilter, byKey: ReadonlyMap<string, Attribute>) {
  const key = isOfCategory(one) ? CATEGORY.key : findAttribute(one.name, byKey).name;
  if (!('values' in one)) return { key, name: one.name, min: one.min, max: one.max };
  return { key, name: one.name, values: one.values.map((value) => ({ value, name: value })) };
}

function describeFacets({ facets, byKey }: FoundGroups) {
  return facets.map(({ attribute, unitName, values, min, max }) => {
    const head = { key: attribute, name: attribute };
    const typed = byKey.get(attribute);
    if (typed?.type !== 'NUMERIC_ATTRIBUTE' || min === undefined)
      return { ...head, type: 'COLLECTION', values: values.map((one) => ({ ...one, name: one.value })) };
    const counts = new Map<string, number>();
    for (const { value, count } of values) {
      const measure = readMeasure(value, typed);
      if ('plain' in measure) counts.set(measure.plain, (counts.get(measure.plain) ?? 0) + count);
    }
    return {
      ...head,
      type: 'RANGE',
      ...(unitName !== undefined && { unit: unitName }),
      min,
      max,
      counts: Object.fromEntries(counts),
    };
  });
}

interface TreeOption {
  readonly key: string;
  readonly value: string;
  readonly name: string;
  readonly count: number;
  readonly children: readonly TreeOption[];
}

function describeTree(categories: readonly CountedCategory[], locale: string) {
  const under = (above: readonly string[]): TreeOption[] =>
    categories
      .filter(({ path }) => path.length === above.length + 1 && above.every((name, at) => path[at] === name))
      .map(({ path, count }) => {
        const key = path.join(LEVEL);
        return { key, value: key, name: path.at(-1) ?? '', count, children: under(path) };
      });
  const name = languageOf(locale) === 'de' ? 'Kategorie' : 'Category';
  return categories.length === 0 ? [] : [{ key: CATEGORY.key, name, type: 'TREE', categories: under([]) }];
}

/** Read by these names in every language: the PHP core takes products from `Produkte`. */
const NAMES = {
  products: 'Produkte',
  categories: 'Kategorien',
  brands: 'Marken',
  searches: 'Suchvorschläge',
};
const BRANDS = ['brand', 'marke', 'hersteller', 'manufacturer'];
/** Of suggestions that are not products. */
const WITHOUT_PAGE = { link: '', image: '' };

/** @returns JSON */
export function answerSuggestions(
  question: ShopQuestion & { readonly suggested: SuggestionLimits },
  found: FoundGroups,
): string {
  const { suggested, query } = question;
  const words = listWords(query);
  const isBegun = (name: string) => listWords(name).some((word) => words.some((one) => word.startsWith(one)));
  /** Entries whose own name matches come first. */
  const choose = <One extends { readonly name: string }>(all: readonly One[], limit: number) =>
    [...all].sort((a, b) => Number(isBegun(b.name)) - Number(isBegun(a.name))).slice(0, limit);
  const categories = found.categories.map(({ path, count }) => ({
    name: path.at(-1) ?? '',
    path,
    query: `_#${path.join(LEVEL)}`,
    ...WITHOUT_PAGE,
    count,
  }));
  const brand = found.facets.find(({ attribute }) => BRANDS.includes(attribute.toLowerCase()));
  const brands = (brand?.values ?? []).map(({ value: name, count }) => ({ name, ...WITHOUT_PAGE, count }));
  const blocks = [
    { type: 'products' as const, totalResults: found.total, results: ITEMS },
    { type: 'categories', totalResults: categories.length, results: choose(categories, suggested.category) },
    { type: 'brands', totalResults: brands.length, results: choose(brands, suggested.brand) },
    listSearches(found, { words, limit: suggested.search }),
  ] as const;
  const named = blocks.map(({ type, ...block }) => ({ type, name: NAMES[type], ...block }));
  const answer = {
    status: 'success' as const,
    query,
    totalResults: found.total,
    resultGroups: Object.fromEntries(named.map(({ name, results }) => [name, results])),
    searchResults: named,
    ...describeExtent(found),
  };
  return writeAnswer(answer, writeItems({ ...found, groups: found.groups.slice(0, suggested.product) }, 0));
}

/** The last word, completed from the names of the hits. */
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
  const completed = [...counts].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1));
  const results = completed.map(([word, count]) => ({
    name: [...words.slice(0, -1), word].join(' '),
    ...WITHOUT_PAGE,
    count,
  }));
  return { type: 'searches' as const, totalResults: results.length, results: results.slice(0, limit) };
}
