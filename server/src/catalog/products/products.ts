/**
 * The door of products: the form of a product on the wire and in a pack, how it is checked, and the ids
 * computed from it. Pure rules, without I/O.
 */

export * from './identifiers.ts';
export * from './packed-products.ts';
export * from './product.ts';
export * from './product-check.ts';
export * from './product-schemas.ts';
export * from './stored-upload.ts';
export * from './value-id.ts';
