/** The door of shop: the search of shop connectors, as they send and read it. Source: docs/interface §4.14. */
export { answerShopSearch } from './shop-answer.ts';
export { listNamedCategories, planShopSearch, type ShopQuestion } from './shop-plan.ts';
export type { Sorting } from './shop-sortings.ts';
export { answerSuggestions } from './shop-suggestions.ts';
