/** The door of definitions: relations as written, checked and compiled to rules. Pure, except for routes. */
export { checkDefinition } from './definition-check.ts';
export { type MatchTexts, textsOf } from './match-texts.ts';
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
export { describeMatch, type MatchWords } from './match-words.ts';
export {
  isConstraint,
  isIndexed,
  isListed,
  markOfRelation,
  matchesOf,
  type Relation,
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
  Locale,
  type Match,
  type MatchElement,
  MatchElements,
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
  listKeys,
  listTables,
} from './rule.ts';
export {
  markOfTable,
  PAIRS_PER_TABLE,
  SentTable,
  type StoredTable,
  type ValueTable,
} from './table-schemas.ts';
