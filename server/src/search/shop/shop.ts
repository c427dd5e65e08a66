/** The door of shop: the search in the forms that shop connectors send and read. Source: docs/interface §4.14. */
export { answerShopSearch } from './shop-answer.ts';
export { listNamedCategories, planShopSearch, type ShopQuestion } from './shop-plan.ts';
export type { Sorting } from './shop-sortings.ts';
export { answerSuggestions } from './shop-suggestions.ts';
