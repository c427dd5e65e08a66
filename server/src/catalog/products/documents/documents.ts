/**
 * The door of documents: stored uploads, which are read without parsing, and the products of a batch packed as rows.
 */

export {
  countRows,
  type DerivedColumns,
  derivedOf,
  type KeyedRow,
  type PackedProducts,
  ProductPacker,
  packHashes,
  rawOf,
  sortedRows,
  transferOf,
} from './packed-products.ts';
export {
  endOfText,
  FRONT_END,
  type StoredKey,
  StoredKeys,
  StoredUpload,
  StoredValues,
  unescapeText,
} from './stored-upload.ts';
