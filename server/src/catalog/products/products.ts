/**
 * The door of products: the form of a product on the wire and in a pack, how it is checked, and the ids
 * computed from it. Pure rules, without I/O.
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
  Commit,
  FoundBy,
  IDENTIFIERS_PER_REQUEST,
  Identifier,
  IdentifierQuery,
  IdentifiersBody,
  IdentifiersQuery,
  IMAGES,
  type Image,
  identifierList,
  type LookedUp,
  LookupProduct,
  OntologyDocument,
  PRODUCTS_PER_REQUEST,
  ProductDetail,
  ProductList,
  ProductListQuery,
  ProductPage,
  ProductParams,
  RestoreEffect,
  SentAttribute,
  SentOntology,
  type SentPatch,
  type SentProduct,
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
  unescapeText,
} from './stored-upload.ts';
export { computePlainValueId, computeValueId } from './value-id.ts';
