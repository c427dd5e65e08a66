/**
 * The door of definitions: the record of channels, their checks, answers and rows, and what they have
 * published. Never reads a product.
 */
export * from './channel-kind.ts';
export * from './channel-schemas.ts';
export * from './channel-store.ts';
