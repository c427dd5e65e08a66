/**
 * The door of hits: a question becomes a plan, and the plan finds hits in the index of one state of a catalog. It
 * runs in threads, and also reads documents that the index lacks.
 */
export { type CategoryPage, type CategoryQuestion, listCategories } from './category-list.ts';
export type { CountedCategory } from './category-tally.ts';
export { type FoundGroups, findGroups, type OpenGroups, openGroups } from './found-groups.ts';
export { answerSearch } from './found-page.ts';
export { HitList } from './hit-list.ts';
export { listProducts } from './listed-products.ts';
export { readWords } from './meant-words.ts';
export { type IndexOrder, LIMITS, type OpenIndex, openIndex, type SearchLimits } from './search-index.ts';
export { planSearch, type SearchPlan, type SearchQuestion } from './search-plan.ts';
