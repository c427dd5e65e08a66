/**
 * The door of answers: a request for related products is planned, answered from memory or by threads, and sent in steps.
 */
export { CatalogRelations, HIGHEST_RELEVANCE, type MetRelateInput } from './made-answers.ts';
export {
  createRelatedAnswers,
  type FoundRelation,
  joinSteps,
  type RelatedAnswerParts,
  type RelatedRequest,
  readRelated,
} from './related-answers.ts';
