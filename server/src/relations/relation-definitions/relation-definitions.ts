/**
 * The door of definitions: relations and value tables in the form in which people write them. They are
 * checked before they are stored.
 */
export { checkDefinition } from './definition-check.ts';
export {
  COMPARISONS_PER_RULE,
  isConstraint,
  isIndexed,
  isListed,
  markOfRelation,
  matchesOf,
  type Relation,
  type RelationRule,
  type RemovedRelation,
  ruleOf,
  type SavedRelation,
  SIDES,
  type Side,
} from './relation.ts';
export {
  type CardProduct,
  type ComputedValue,
  ExplainedElement,
  type ExplainedMatch,
  Explanation,
  HIGHEST_RELEVANCE,
  Locale,
  type Match,
  type MatchElement,
  MatchElements,
  type MatchedValue,
  RelatedProduct,
  RelatedReason,
  type RelationDefinition,
  type RelationSurvey,
  SentRelation,
  SingleProduct,
  type SurveyCard,
  Term,
  TOTAL_OPERATORS,
  type TotalOperator,
  type TotalValue,
  WireFilter,
} from './relation-schemas.ts';
export {
  markOfTable,
  PAIRS_PER_TABLE,
  SentTable,
  type StoredTable,
  type ValueTable,
} from './table-schemas.ts';
