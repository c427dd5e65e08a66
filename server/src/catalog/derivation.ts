import type { SqlTransaction } from '../storage/postgres/postgres.ts';
import type { SqlSession } from '../storage/programs/programs.ts';
import type { CatalogFile } from '../storage/sqlite/sqlite.ts';
import type { ReportLine } from '../tasks/tasks.ts';
import type { OwnField } from './filters/filters.ts';
import {
  type DerivedColumns,
  derivedOf,
  type PackedProducts,
  type ProductPacker,
} from './products/documents/documents.ts';
import type { AttributeValue, UploadedProduct } from './products/products.ts';

/**
 * What rooms to the right derive from products and store in the catalog's file, e.g. on which sides of
 * relations a product is. It is derived where products are parsed, and written in the transaction that writes
 * their document, so a reader never sees one without the other.
 */
export interface Derivation {
  /** @returns the present derivation; call it on a snapshot */
  open(file: CatalogFile): Derive;
  place(file: CatalogFile, placed: PlacedBatch): void;
  remove(file: CatalogFile, documents: readonly number[]): void;
  /** Reorganises a part of what was written. @returns whether there may be more */
  tidy(file: CatalogFile): boolean;
}

/** The same for PostgreSQL, a store that works in batches. Every call is in the transaction that writes the documents. */
export interface BatchDerivation {
  open(session: SqlSession, projectId: number): Promise<Derive>;
  place(tx: SqlTransaction, projectId: number, placed: PlacedBatch): Promise<void>;
  remove(tx: SqlTransaction, projectId: number, documents: readonly number[]): Promise<void>;
}

/** The part of an upload that can be derived from. */
export interface DerivedFrom extends Pick<UploadedProduct, OwnField> {
  readonly categories: readonly Pick<UploadedProduct['categories'][number], 'path'>[];
  readonly attributes: readonly Pick<AttributeValue, 'key' | 'value' | 'row'>[];
}

/** The products of a body, by row, with numbers instead of the texts of attributes, most of which repeat. */
export interface DerivedSource {
  /** The keys that are read, in the order of their numbers: reading all of a product takes five times as long. */
  readonly keys: readonly string[];
  /** Sources with the same object give a text of a key the same number. */
  readonly texts: object;
  readOwn(row: number, field: OwnField): string;
  /** @returns the same object for the same categories */
  categoriesOf(row: number): DerivedFrom['categories'];
  /**
   * Calls `visit` for each value of these attributes: equal numbers are equal texts of one key.
   * @param isVisited by the number of the key, only for keys that are read; default: all that are
   */
  visitTexts(row: number, visit: VisitText, isVisited?: readonly boolean[]): void;
  textOf(key: number, text: number): string;
}

export type VisitText = (key: number, text: number, ofRow: string | number | undefined) => void;

/**
 * Pure. `open` takes the keys of the attributes to read, the same set for as long as their texts are known; `report` is called for a product with something to report.
 * @returns undefined if nothing is derived
 */
export type Derive = (
  open: (keys: ReadonlySet<string>) => DerivedSource,
  report: (line: ReportLine) => void,
) => DerivedBatch | undefined;

/** What is derived from the products of a body. */
export interface DerivedBatch {
  /**
   * @param place of the product among the packed rows
   * @param into gets the text to store with the product, if any
   */
  add(row: number, place: number, into: ProductPacker): void;
  /** @returns what is derived besides the texts */
  finish(): DerivedColumns | undefined;
}

export type PlacedDocument = Readonly<Record<'id' | 'productId', number>>;

/** A document to write, from a row of packed products. */
export interface PlannedDocument extends PlacedDocument {
  readonly row: number;
}

/** What was derived from a batch, with the documents made from its rows. */
export interface PlacedBatch {
  /** The documents for which anything was derived; `derived` is never ''. */
  readonly documents: readonly (PlannedDocument & { readonly derived: string })[];
  readonly columns: DerivedColumns | undefined;
}

export const placeDerived = (packed: PackedProducts, placed: readonly PlannedDocument[]): PlacedBatch => ({
  documents: placed.flatMap(({ row, id, productId }) => {
    const derived = derivedOf(packed, row);
    return derived === '' ? [] : [{ row, id, productId, derived }];
  }),
  columns: packed.derived,
});
