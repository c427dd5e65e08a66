/**
 * The door of search: products found by words and filters, with an index beside the catalog. The index is derived
 * from documents. The first search makes it, and updates never wait for it. Search depends on the catalog, and the
 * catalog does not depend on search.
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
