/**
 * The door of products: the form of a product, the checks of requests that name or send products, and the ids
 * computed from their values. Pure rules, without I/O.
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
  type CorrectedProduct,
  checkBody,
  describeInvalid,
  isTooShortForExcess,
  listProductErrors,
  type OnInvalid,
  refuseExcess,
  type SkippedProduct,
  unpackBody,
} from './product-check.ts';
export { computePlainValueId, computeValueId } from './value-id.ts';
