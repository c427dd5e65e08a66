/**
 * The door of products: what a product is, how a request is checked that names or sends products, and the ids computed from
 * their values. Pure rules, without I/O.
 */

export { checkIdentifiers, readIdentifierList, readIdentifiers, refuseCommas } from './identifiers.ts';
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
export { computePlainValueId, computeValueId } from './value-id.ts';
