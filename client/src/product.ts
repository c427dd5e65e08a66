import type { Product, ProductInAFullOrIncrementalUpdate, ProductInAPartialUpdate, Task } from './wire.ts';

/** What full and incremental updates take. Source: docs/interface.md §2.3. */
export type UploadProduct = ProductInAFullOrIncrementalUpdate;
/** What partial updates take. */
export type PartialProduct = ProductInAPartialUpdate;

/** An element of a listing: the upload shape with what the service knows besides. Source: docs/interface.md §14.3. */
export interface ListedProduct extends UploadProduct {
  id: number;
  lastUpdateTs: number;
}

/** What a table shows of a product. Source: docs/interface.md §14.3 rule 4. */
export interface TableProduct {
  id: number;
  identifier: string;
  groupId: string;
  name: string;
  image: string;
  category: string[];
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
  /** Each uploaded value beside what was extracted from it. */
  values?: ExtractedValue[];
  /** The instant of the last change and the task that made it; null when it was forgotten since. */
  lastChange?: { at: number; task: Task | null };
}

/** An uploaded value and its fact, or why there is none. */
export interface ExtractedValue {
  key: string;
  value: string;
  userGroups?: string[];
  /** null: the ontology does not know the key. */
  attribute: string | null;
  fact: { attributeId: number; valueId: number; type: string; number?: number; unit?: string } | null;
  code?: string;
  message?: string;
}

/** One relation as it concerns one product. Source: docs/interface.md §12.7. */
export interface ProductRelation {
  id: number;
  name: string;
  tag: string;
  enabled: boolean;
  state: string;
  /** What the product leads to; null where the relation answers nothing. */
  asSource: RelationSide | null;
  /** What leads to the product. */
  asTarget: RelationSide | null;
}

/** Why a product is a result: the conditions of both sides and the match, with the values that satisfied them. */
export interface RelatedReason {
  match: {
    target: string;
    operator: string;
    source: string;
    holds: boolean;
    targetValues: string[];
    sourceValues: string[];
  }[];
}

/** One direction of a relation from a product. */
export interface RelationSide {
  /** Whether the product stands on this side. */
  stands: boolean;
  results: {
    identifier: string;
    groupId: string;
    name: string;
    image: string;
    category: string[];
    explain: RelatedReason;
  }[];
}
