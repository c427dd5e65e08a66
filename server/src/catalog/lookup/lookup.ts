/**
 * The door of lookup: products by identifier, from stored bytes that are neither parsed nor serialised.
 */

export { coalesceReads } from './coalesced-reads.ts';
export { LookupAnswers, type ServedAnswer } from './lookup-answers.ts';
