import { type Attribute, readMeasure } from '../../catalog/ontology/ontology.ts';
import type { CountedCategory, FoundGroups } from '../hits/hits.ts';
import { ITEMS, writeAnswer, writeItems } from './shop-items.ts';
import {
  CATEGORY,
  findAttribute,
  isOfCategory,
  LEVEL,
  type ShopFilter,
  type ShopQuestion,
} from './shop-plan.ts';
import { languageOf, listSortings, type Sorting } from './shop-sortings.ts';

/** The answer to a search, in the form for shop connectors. Source: docs/interface §4.14. */

/** Names of the parts, which are the same in every language: the PHP core reads products from `Produkte`. */
export const NAMES = {
  products: 'Produkte',
  categories: 'Kategorien',
  brands: 'Marken',
  searches: 'Suchvorschläge',
};

/** @returns JSON */
export function answerShopSearch(question: ShopQuestion, sorting: Sorting | undefined, groups: FoundGroups) {
  const totals = {
    totalResults: groups.total,
    totalResultsVariants: groups.hits,
    totalResultsHead: groups.total,
    totalResultsHeadVariants: groups.hits,
  };
  const products = { type: 'products', name: NAMES.products, ...totals };
  const answer = {
    status: 'success' as const,
    totalResults: groups.total,
    searchResults: [{ ...products, results: ITEMS }],
    // An object, because Shopware 6 accepts no other form.
    interpretedQuery: { original: question.query, corrected: question.query, queryWasCorrected: false },
    answerText: '',
    filterOptions: [...describeTree(groups.categories, question.locale), ...describeFacets(groups)],
    activeFilterOptions: question.filters.map((filter) => describeActive(filter, groups.byKey)),
    sortingOptions: listSortings(groups.byKey, question.priceAttribute, languageOf(question.locale)),
    activeSortingOption: sorting === undefined ? {} : { ...sorting, direction: sorting.sort },
    redirect: null,
    ...describeExtent(groups),
  };
  return writeAnswer(answer, writeItems(groups, question.offset));
}

/** Marks totals that are estimates, and counts of only a part of the hits. */
export const describeExtent = ({ isTotalExact, facetsOf, hits, isPartial }: FoundGroups) => ({
  ...(!isTotalExact && { isTotalExact }),
  ...(facetsOf < hits && { facetsOf }),
  ...(isPartial && { partial: true }),
});

function describeActive(filter: ShopFilter, byKey: ReadonlyMap<string, Attribute>) {
  const key = isOfCategory(filter) ? CATEGORY.key : findAttribute(filter.name, byKey).name;
  if (!('values' in filter)) return { key, name: filter.name, min: filter.min, max: filter.max };
  return { key, name: filter.name, values: filter.values.map((value) => ({ value, name: value })) };
}

function describeFacets({ facets, byKey }: FoundGroups) {
  return facets.map(({ attribute, unitName, values, min, max }) => {
    const head = { key: attribute, name: attribute };
    const typed = byKey.get(attribute);
    if (typed?.type !== 'NUMERIC_ATTRIBUTE' || min === undefined)
      return {
        ...head,
        type: 'COLLECTION',
        values: values.map((option) => ({ ...option, name: option.value })),
      };
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
      .filter(
        ({ path }) => path.length === above.length + 1 && above.every((name, level) => path[level] === name),
      )
      .map(({ path, count }) => {
        const key = path.join(LEVEL);
        return { key, value: key, name: path.at(-1) ?? '', count, children: under(path) };
      });
  const name = languageOf(locale) === 'de' ? 'Kategorie' : 'Category';
  return categories.length === 0 ? [] : [{ key: CATEGORY.key, name, type: 'TREE', categories: under([]) }];
}
