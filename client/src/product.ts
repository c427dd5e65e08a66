import type { AnswerOf } from './transport.ts';
import type {
  DescribedValue,
  ProductInAFullOrIncrementalUpdate,
  ProductInAPartialUpdate,
  ProductRelations,
} from './wire.ts';

/** A product in full and incremental updates. Source: docs/interface §2.3. */
export type UploadProduct = ProductInAFullOrIncrementalUpdate;
/** A product in partial updates. */
export type PartialProduct = ProductInAPartialUpdate;

/** An element of a listing: the upload with the fields that the service adds. Source: docs/interface §14.3. */
export interface ListedProduct extends UploadProduct {
  id: number;
  lastUpdateTs: number;
}

/** An uploaded value with its fact, or the reason why it has none. */
export type ExtractedValue = DescribedValue;

/** One product as it was uploaded and as it is answered. Source: docs/interface §14.3 rule 3. */
export type ProductPage = Omit<AnswerOf<'getManagementProjectsByIdProductsByIdentifier'>, 'upload'> & {
  upload: UploadProduct;
};

/** One relation from the view of one product. Source: docs/interface §12.7. */
export type ProductRelation = ProductRelations['relations'][number];

/** One direction of a relation from a product. */
export type RelationSide = NonNullable<ProductRelation['asSource']>;
