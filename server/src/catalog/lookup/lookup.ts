/**
 * The door of lookup: products by identifier. Their answers are made from stored uploads at the first read, and
 * cached as bytes.
 */

export { createAnswerBuffers } from './answer-buffers.ts';
export { CachedWriter, catalogOf, createPathIds } from './cached-writer.ts';
export { coalesceReads } from './coalesced-reads.ts';
export { madeAnswerOperations, type ReadProduct, readProducts } from './long-answers.ts';
export {
  type AnsweredCatalog,
  LookupAnswers,
  type LookupParts,
  MADE_AT_ONCE_BYTES,
  refuseLarge,
  type ServedAnswer,
} from './lookup-answers.ts';
export { type AnswerForm, makeDataPoint, makeItem } from './product-item.ts';
