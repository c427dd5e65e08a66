/** The door of definitions: relations as written, checked and compiled to rules. Pure, except for routes. */
export { checkDefinition } from './definition-check.ts';
export * from './match-truth.ts';
export * from './relation.ts';
export * from './relation-schemas.ts';
export * from './rule.ts';
export {
  markOfTable,
  PAIRS_PER_TABLE,
  type SentTable,
  type StoredTable,
  type ValueTable,
} from './table-schemas.ts';
