import { readPath } from '../../rules/category-path.ts';
import { readChosen, toFilter } from '../../rules/chosen-facets.ts';
import type { ProductFilters } from './product-filters.ts';

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
