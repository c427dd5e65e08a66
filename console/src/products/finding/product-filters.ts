import { readPath } from '../../rules/category-path.ts';
import { readChosen, toFilter } from '../../rules/chosen-facets.ts';

/** The filters of the products, as in the address; empty ones do not apply. */
export const PRODUCT_FILTERS = ['q', 'where', 'sort', 'category', 'prefix'] as const;

export type ProductFilters = Readonly<Record<(typeof PRODUCT_FILTERS)[number], string>>;

/** The parameters of the view's address. */
export const VIEW_PARTS = [...PRODUCT_FILTERS, 'columns'] as const;

export const NO_FILTERS: ProductFilters = { q: '', where: '', sort: '', category: '', prefix: '' };

/** Whether the products are hits of a search rather than a list by identifier. */
export const isSearch = ({ q, where, sort, category }: ProductFilters): boolean =>
  `${q}${where}${sort}${category}`.trim() !== '';

/** A list by identifier does not allow other filters, so the latest choice replaces the others. */
export function withFilters(changed: Partial<ProductFilters>): Partial<ProductFilters> {
  if (changed.prefix) return { ...NO_FILTERS, ...changed };
  return isSearch({ ...NO_FILTERS, ...changed }) ? { prefix: '', ...changed } : changed;
}

/** Filters in addresses and views of earlier versions: parts of names, and `Colour: red`. */
export const EARLIER_FILTERS = ['name', 'attribute'] as const;

/** @returns words with the same results; undefined if there are no such filters */
export function renewFilters({
  q,
  name,
  attribute,
}: Readonly<Record<'q' | (typeof EARLIER_FILTERS)[number], string>>) {
  if (name === '' && attribute === '') return undefined;
  const value = attribute.slice(attribute.indexOf(':') + 1).trim();
  const words = [q, name, value].filter((part) => part !== '').join(' ');
  return { q: words, prefix: '', name: '', attribute: '' };
}

/** @returns the filters as parameters of a listing, which cannot be sorted */
export function toListing({ prefix, ...filters }: ProductFilters) {
  const { q, filter, category } = toQuestion(filters);
  return {
    ...(prefix && { identifierPrefix: prefix }),
    ...(q && { q }),
    ...(filter && { filter }),
    ...(category && { category: readPath(filters.category) }),
  };
}

/** @returns the filters as parameters of a search */
export function toQuestion({ q, where, sort, category }: Omit<ProductFilters, 'prefix'>) {
  const path = readPath(category);
  const filter = toFilter(readChosen(where));
  return {
    ...(q.trim() && { q: q.trim() }),
    ...(filter && { filter }),
    ...(sort && { sort }),
    ...(path.length > 0 && { category: JSON.stringify(path) }),
  };
}
