/**
 * The door of answers: a request for related products is planned, answered from memory or by threads, and sent in steps.
 */
export {
  CatalogRelations,
  HIGHEST_RELEVANCE,
  type MetRelateInput,
  type RelateOutput,
} from './made-answers.ts';
export {
  createRelatedAnswers,
  type FoundRelation,
  type RelatedAnswerParts,
  type RelatedRequest,
  readAnswer,
} from './related-answers.ts';
