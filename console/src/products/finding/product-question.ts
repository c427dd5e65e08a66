import { readPath } from '../../rules/category-path.ts';
import { readChosen, toFilter } from '../../rules/chosen-facets.ts';
import type { ProductFilters } from './product-filters.ts';

/** @returns the filters as the service takes them */
export function toQuestion({ q, where, sort, category }: ProductFilters) {
  const path = readPath(category);
  const filter = toFilter(readChosen(where));
  return {
    ...(q.trim() && { q: q.trim() }),
    ...(filter && { filter }),
    ...(sort && { sort }),
    ...(path.length > 0 && { category: JSON.stringify(path) }),
  };
}
