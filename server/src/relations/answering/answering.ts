/**
 * The door of answers: a request for related products is planned, answered from memory or by threads, and sent in steps.
 */
export { CatalogRelations } from './catalog-relations.ts';
export type { RelateRequest } from './relate-request.ts';
export {
  createRelatedAnswers,
  type FoundRelation,
  joinSteps,
  type RelatedAnswerParts,
  type RelatedRequest,
  readRelated,
} from './related-answers.ts';
