/** The door of definitions: relations as written, checked and compiled to rules. Pure, except for routes. */
export { checkDefinition } from './definition-check.ts';
export { type MatchTexts, textsOf } from './match-texts.ts';
export * from './match-truth.ts';
export { describeMatch, type MatchWords } from './match-words.ts';
export * from './relation.ts';
export * from './relation-schemas.ts';
export * from './rule.ts';
export * from './table-schemas.ts';
