/**
 * The door of hits: a question becomes a plan, and the plan finds hits in the index of one state of a catalog. It runs in
 * threads, and reads what the index lacks in addition.
 */
export { type CategoryPage, type CategoryQuestion, listCategories } from './category-list.ts';
export { FACETED, FacetTally } from './facets.ts';
export { findMeant, type MeantWords } from './meant-words.ts';
export {
  type HitPlace,
  type IndexOrder,
  LIMITS,
  type OpenIndex,
  openIndex,
  readPlace,
  type SearchLimits,
  startPart,
  writePlace,
} from './search-index.ts';
export { planSearch, type SearchPlan, type SearchQuestion, type SearchSort } from './search-plan.ts';
