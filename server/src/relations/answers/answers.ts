/**
 * The door of answers: what is asked about related products and how the answer looks on the wire.
 */
export { createKeptAnswers } from './kept-answers.ts';
export type { AnswerForm } from './related-answers.ts';
export { CatalogRelations, type RelateInput } from './related-answers.ts';
export { checkIncluded, checkSize, type IncludedRelations, planTags } from './related-request.ts';
