import { readPath } from '../../rules/category-path.ts';
import { readChosen, toFilter } from '../../rules/chosen-facets.ts';

/** What the products are narrowed by, as it stands in the address; empty: not by it. */
export const PRODUCT_FILTERS = ['q', 'where', 'sort', 'category', 'prefix'] as const;

export type ProductFilters = Readonly<Record<(typeof PRODUCT_FILTERS)[number], string>>;

/** What the address of the view has. */
export const VIEW_PARTS = [...PRODUCT_FILTERS, 'columns'] as const;

export const NO_FILTERS: ProductFilters = { q: '', where: '', sort: '', category: '', prefix: '' };

/** Whether the products are hits of a search, or a list by identifier. */
export const isSearch = ({ q, where, sort, category }: ProductFilters): boolean =>
  `${q}${where}${sort}${category}`.trim() !== '';

/** A list by identifier has no other filter: what is chosen last counts. */
export function withFilters(changed: Partial<ProductFilters>): Partial<ProductFilters> {
  if (changed.prefix) return { ...NO_FILTERS, ...changed };
  return isSearch({ ...NO_FILTERS, ...changed }) ? { prefix: '', ...changed } : changed;
}

/** Filters of addresses and views that an earlier version made: parts of names, and `Colour: red`. */
export const EARLIER_FILTERS = ['name', 'attribute'] as const;

/** @returns words that find alike; undefined where there are no such filters */
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

/** @returns the filters as a listing takes them, which has no order of its own */
export function toListing({ prefix, ...filters }: ProductFilters) {
  const { q, filter, category } = toQuestion(filters);
  return {
    ...(prefix && { identifierPrefix: prefix }),
    ...(q && { q }),
    ...(filter && { filter }),
    ...(category && { category: readPath(filters.category) }),
  };
}

/** @returns the filters as a search takes them */
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
