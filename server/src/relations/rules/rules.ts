/**
 * The door of rules: the rule of a relation, compiled with the attributes of the ontology, whether it holds for two products,
 * and the sentences on that. Pure.
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
