/**
 * The door of lookup: products by identifier, made of their stored uploads when they are first read, and kept as bytes.
 */

export { createAnswerBuffers } from './answer-buffers.ts';
export { CachedWriter } from './cached-writer.ts';
export { coalesceReads } from './coalesced-reads.ts';
export {
  type AnsweredCatalog,
  LookupAnswers,
  type LookupParts,
  MADE_AT_ONCE_BYTES,
  refuseLarge,
  type ServedAnswer,
} from './lookup-answers.ts';
export { madeAnswerOperations } from './made-answers.ts';
export { type AnswerForm, makeItem } from './product-item.ts';
