/**
 * The door of lookup: products by identifier, from stored bytes that are neither parsed nor serialised.
 */
export { LookupAnswers, type ServedAnswer } from './lookup-answers.ts';
export { createSharedReads } from './shared-reads.ts';
