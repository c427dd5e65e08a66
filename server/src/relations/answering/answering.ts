/**
 * The door of answers: plans a request for related products, answers it from memory or by threads, and sends
 * the answer in steps.
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
