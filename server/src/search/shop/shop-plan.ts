import type { CatalogSnapshot } from '../../catalog/catalog.ts';
import type { Filter } from '../../catalog/filters/filters.ts';
import { type Attribute, readMeasure } from '../../catalog/ontology/ontology.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { SearchQuestion } from '../hits/hits.ts';
import { findSorting, type Sorting } from './shop-sortings.ts';

/** A search in the form that shop connectors send. Source: docs/interface §4.14. */
export interface ShopQuestion extends Pick<SearchQuestion, 'named'> {
  /** Words; `*` finds all products, `_#Tools#Drills` a category. */
  readonly query: string;
  readonly offset: number;
  readonly limit: number;
  readonly filters: readonly ShopFilter[];
  /** The key or the name of a sorting option. */
  readonly sort: string | undefined;
  /** The locale of the project. In a German locale, names are German. */
  readonly locale: string;
  /** The attribute of prices, from the setting of the project. */
  readonly priceAttribute: string;
  /** A further filter in the language of filters, as JSON. */
  readonly filter?: string | undefined;
  /** How many suggestions of each kind; undefined for a search. */
  readonly suggested?: SuggestionLimits | undefined;
}

export type ShopFilter = { readonly name: string } & (
  | { readonly values: readonly string[] }
  | { readonly min: number; readonly max: number }
);

export type SuggestionLimits = Readonly<Record<'product' | 'category' | 'brand' | 'search', number>>;

export const CATEGORY = { key: 'category', names: ['category', 'kategorie', 'categories', 'kategorien'] };
export const isOfCategory = ({ name }: ShopFilter) => CATEGORY.names.includes(name.toLowerCase());
/** The separator between the levels of a category that connectors write. */
export const LEVEL = '#';

/** @returns the paths that a filter means if it has only the name of a category */
export async function listNamedCategories(
  snapshot: CatalogSnapshot,
  { filters }: Pick<ShopQuestion, 'filters'>,
): Promise<readonly (readonly string[])[]> {
  const names = filters.filter(isOfCategory).flatMap((named) => ('values' in named ? named.values : []));
  if (names.length === 0) return [];
  const listed = await snapshot.listCategoryPaths({ under: [], after: [], limit: 5_000 });
  const paths = new Map<string, readonly string[]>();
  for (const { path } of listed)
    for (const [level, name] of path.entries())
      if (names.includes(name)) paths.set(path.slice(0, level + 1).join(LEVEL), path.slice(0, level + 1));
  return [...paths.values()];
}

interface KnownNames {
  readonly byKey: ReadonlyMap<string, Attribute>;
  readonly categories: readonly (readonly string[])[];
}

/** @throws query_invalid for a filter or an order by an unknown attribute */
export function planShopSearch(
  question: ShopQuestion,
  names: KnownNames,
): { readonly question: SearchQuestion; readonly sorting: Sorting | undefined } {
  const sorting = findSorting(question, names.byKey);
  const words = question.query.trim();
  const category = words.startsWith('_#') ? words.slice(2).split(LEVEL).filter(Boolean) : [];
  const narrowed = question.filter === undefined ? [] : [JSON.parse(question.filter) as Filter];
  const filter: Filter = {
    all: [...question.filters.map((shopFilter) => toFilter(shopFilter, names)), ...narrowed],
  };
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

function toFilter(filter: ShopFilter, { byKey, categories }: KnownNames): Filter {
  if (isOfCategory(filter) && 'values' in filter) {
    const paths = filter.values.flatMap((value) => {
      const named = categories.filter((path) => path.at(-1) === value);
      return named.length > 0 ? named : [value.split(LEVEL).filter(Boolean)];
    });
    return { any: paths.filter((path) => path.length > 0).map((path) => ({ category: [...path] })) };
  }
  const attribute = findAttribute(filter.name, byKey);
  const { name } = attribute;
  if ('values' in filter) {
    const values = filter.values.map((value) => toOperand(value, attribute));
    return { any: values.map((value) => ({ attribute: name, operator: 'equals', value })) };
  }
  return { attribute: name, operator: 'between', value: [filter.min, filter.max] };
}

/** @returns an uploaded value as the operand of its attribute's type */
function toOperand(value: string, attribute: Attribute): string | number | boolean {
  if (attribute.type === 'BOOLEAN_ATTRIBUTE') return /^(true|yes|ja|1)$/i.test(value);
  const measure = attribute.type === 'NUMERIC_ATTRIBUTE' ? readMeasure(value, attribute) : undefined;
  return measure !== undefined && 'plain' in measure ? Number(measure.plain) : value;
}

/** @throws query_invalid */
export function findAttribute(name: string, byKey: ReadonlyMap<string, Attribute>): Attribute {
  const lower = name.toLowerCase();
  const attribute =
    byKey.get(name) ?? byKey.values().find((candidate) => candidate.name.toLowerCase() === lower);
  if (attribute !== undefined) return attribute;
  throw new ServiceError(
    'query_invalid',
    `/filters names ${JSON.stringify(name)}, but there is no such attribute`,
  );
}
