/**
 * The door of lookup: products by identifier, made of their stored uploads when they are first read, and kept as bytes.
 */

export { coalesceReads } from './coalesced-reads.ts';
export { KeptWriter } from './kept-writer.ts';
export { LookupAnswers, type ServedAnswer } from './lookup-answers.ts';
