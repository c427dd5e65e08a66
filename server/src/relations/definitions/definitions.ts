/**
 * The door of definitions: relations as written, checked and compiled to rules. Pure, except for routes.
 */
export { checkDefinition } from './definition-check.ts';
export {
  isApart,
  isPair,
  type Judgement,
  judgeElement,
  listRows,
  type ReadValues,
  type RowedValue,
  readFrom,
} from './match-truth.ts';
export {
  type ComputedValue,
  isConstraint,
  isIndexed,
  isListed,
  type Match,
  type MatchElement,
  markOfRelation,
  matchesOf,
  type Relation,
  type RelationDefinition,
  type RelationState,
  type RemovedRelation,
  ruleOf,
  type SavedRelation,
  type Side,
  TOTAL_OPERATORS,
  type TotalOperator,
  type TotalValue,
  type ValueTable,
} from './relation.ts';
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
export {
  attributeOf,
  type BoundRule,
  bindRule,
  COMPARISONS_PER_RULE,
  type CompiledElement,
  type CompiledMatch,
  type CompiledRule,
  compiledOf,
  compileRule,
  finderOf,
  listTables,
} from './rule.ts';
export { markOfTable, PAIRS_PER_TABLE, type SentTable, type StoredTable } from './table-schemas.ts';
