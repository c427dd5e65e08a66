/**
 * The door of lookup: products by identifier, made of their stored uploads when they are first read, and kept as bytes.
 */

export * from './answer-buffers.ts';
export * from './cached-writer.ts';
export * from './coalesced-reads.ts';
export * from './lookup-answers.ts';
export * from './made-answers.ts';
export * from './product-item.ts';
