/**
 * The door of search: products found by words and filters, with an index beside the catalog. The index is
 * derived from documents, made at the first search, and never part of an update.
 */
export { LexemeWriter } from './lexemes.ts';
export { createProductSearch } from './product-search.ts';
export {
  NEW_WALK,
  needsTidying,
  SEARCH_STEP,
  type SearchWalk,
  TAIL,
  TIDY_STEP,
} from './search-index.ts';
export type { SearchQuestion } from './search-plan.ts';
export type { FindGroups, GroupQuestion, IndexOutcome, OpenGroups } from './search-run.ts';
export { openSearch, searchOperations } from './search-run.ts';
export type { SearchAnswer } from './search-schemas.ts';
export type { ShopFilter, ShopQuestion } from './shop-search.ts';
export { keyOfGroup } from './words.ts';
