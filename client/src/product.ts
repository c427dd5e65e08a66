import type { Product, ProductInAFullOrIncrementalUpdate, ProductInAPartialUpdate } from './wire.ts';

/** What full and incremental updates take. Source: docs/interface.md §2.3. */
export type UploadProduct = ProductInAFullOrIncrementalUpdate;
/** What partial updates take. */
export type PartialProduct = ProductInAPartialUpdate;

/** An element of a listing: the upload shape with what the service knows besides. Source: docs/interface.md §14.3. */
export interface ListedProduct extends UploadProduct {
  id: number;
  lastUpdateTs: number;
}

/** A value that made no fact, and why. */
export interface NotExtracted {
  attribute: string;
  value: string;
  code: string;
  message: string;
}

/** One product as it was sent and as it is answered. Source: docs/interface.md §14.3 rule 3. */
export interface ProductPage {
  product: Product;
  upload: UploadProduct;
  notExtracted: NotExtracted[];
  /** The task of the last change, where the service knows it. */
  lastTask?: { id: string; name: string } | null;
}
