/**
 * The door of definitions: relations as written, checked and compiled to rules. Pure, except for routes.
 */
export { checkDefinition } from './definition-check.ts';
export {
  isConstraint,
  isListed,
  type Match,
  markOfRelation,
  type Relation,
  type RelationDefinition,
  type RelationState,
  type RemovedRelation,
  ruleOf,
  type SavedRelation,
  type Side,
} from './relation.ts';
export { ExplainedMatch, RelatedProduct, RelatedReason, SentRelation } from './relation-schemas.ts';
export {
  attributeOf,
  type BoundRule,
  bindRule,
  COMPARISONS_PER_RULE,
  type CompiledRule,
  compileRule,
} from './rule.ts';
