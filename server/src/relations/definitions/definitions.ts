/**
 * The door of definitions: relations as written, checked and compiled to rules. Pure, except for routes.
 */
export { checkDefinition } from './definition-check.ts';
export * from './match-truth.ts';
export * from './relation.ts';
export {
  type CardProduct,
  ExplainedElement,
  type ExplainedMatch,
  type Explanation,
  MatchElements,
  RelatedProduct,
  RelatedReason,
  type RelationSurvey,
  SentRelation,
  SingleProduct,
  type SurveyCard,
} from './relation-schemas.ts';
export * from './rule.ts';
export { markOfTable, PAIRS_PER_TABLE, type SentTable, type StoredTable } from './table-schemas.ts';
