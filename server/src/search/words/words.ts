/**
 * The door of words: texts become words without case and accents, and products become the lexemes by which the index
 * finds them. It uses no index and no store.
 */
export { hasWords, keyOfGroup, lexemeOf, listWords } from './lexeme-parts.ts';
export { LexemeWriter, listForgivable, listLexemes } from './lexemes.ts';
export { holdsAll, isInTier, planTiers, type SearchTiers, type WordedSearch } from './tiers.ts';
export { errorsOf, listPatterns, NearestWords } from './typing-errors.ts';
