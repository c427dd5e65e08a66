/** The door of search: finding related products from memberships, explaining them, and surveys of a whole relation. */

export * from './catalog-columns.ts';
export * from './related-search.ts';
export * from './related-view.ts';
export * from './relation-explain.ts';
export * from './relation-survey.ts';
export { surveyTotal, tryOnColumns } from './tried-columns.ts';
