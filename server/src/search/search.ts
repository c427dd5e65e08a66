/**
 * The door of search: products found by words and filters, with an index beside the catalog. The index is
 * derived from documents, made at the first search, and never part of an update. Search knows the catalog; the catalog
 * never knows search.
 */
export { ProductSearch } from './product-search.ts';
export type { SearchAnswer } from './search-schemas.ts';
export {
  type FindGroups,
  type GroupQuestion,
  type IndexOutcome,
  openSearch,
  searchOperations,
} from './search-threads.ts';
