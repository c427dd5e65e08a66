/**
 * The door of rules: compiles the rule of a relation with the attributes of the ontology, judges whether it
 * holds for two products, and describes that in sentences. Pure.
 */
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
  attributeOf,
  type BoundRule,
  bindRule,
  type CompiledElement,
  type CompiledMatch,
  type CompiledRule,
  compiledOf,
  compileRule,
  finderOf,
  listKeys,
  listTables,
} from './rule.ts';
