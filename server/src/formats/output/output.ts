/**
 * The door of output: what all output formats share. An output format has fields, which check and write values, and a
 * writer, which turns rows into text. It is pure, and it never knows the origin of a product.
 */
export { tsvCell, writeDelimited } from './delimited.ts';
export {
  type FeedRow,
  INSTEAD,
  RELATED_AS,
  type RelatedAs,
  type RelatedProducts,
  relatedBy,
} from './feed-row.ts';
export {
  CURRENCY_SIGNS,
  choice,
  code,
  type Field,
  type FieldKind,
  freeField,
  gtin,
  type ReadField,
  readField,
  required,
  text,
  url,
} from './fields.ts';
export {
  type OutputFormat,
  type RowWriter,
  type SuggestedSource,
  searched,
  type WriterOptions,
} from './output-format.ts';
export { PLAIN_FORMAT, REMOVED } from './plain-format.ts';
export { defineShopList, GOES_WITH } from './shop-list.ts';
