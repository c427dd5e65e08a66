/**
 * The door of products: what a product is on the wire and in a pack, how it is checked, and the ids computed from it.
 * Pure rules, without I/O.
 */

export { checkIdentifiers, readIdentifierList, readIdentifiers, refuseCommas } from './identifiers.ts';
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
  type AttributeValue,
  mainCategory,
  mainImage,
  normaliseProduct,
  patchProduct,
  type SentPatch,
  type SentProduct,
  smallImage,
  type UploadedProduct,
} from './product.ts';
export {
  type BodyForm,
  type BodySource,
  checkBody,
  describeInvalid,
  isTooShortForExcess,
  listProductErrors,
  type MendedProduct,
  type OnInvalid,
  refuseExcess,
  type SkippedProduct,
  unpackBody,
} from './product-check.ts';
export {
  AttributeSchema,
  CategoryListQuery,
  CategoryPage,
  CategoryPath,
  CategorySchema,
  FoundBy,
  Identifier,
  IdentifierQuery,
  IdentifiersBody,
  IdentifiersQuery,
  IMAGES,
  LookupProduct,
  OntologyDocument,
  PRODUCTS_PER_REQUEST,
  ProductDetail,
  ProductList,
  ProductListQuery,
  ProductPage,
  ProductParams,
  SentAttribute,
  SentOntology,
  TableProduct,
  UpdateBody,
  UploadBody,
  UploadProduct,
  ValueSchema,
} from './product-schemas.ts';
export {
  endOfText,
  FRONT_END,
  type StoredKey,
  StoredKeys,
  StoredUpload,
  StoredValues,
} from './stored-upload.ts';
export { computePlainValueId, computeValueId } from './value-id.ts';
