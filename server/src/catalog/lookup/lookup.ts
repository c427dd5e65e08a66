/** The door of lookup: products by identifier, made from their stored uploads when first read, and cached as bytes. */

export * from './answer-buffers.ts';
export * from './cached-writer.ts';
export * from './coalesced-reads.ts';
export * from './lookup-answers.ts';
export * from './made-answers.ts';
export * from './product-item.ts';
