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
 * Data that rooms to the right derive from products and store in the catalog's file, such as the sides of
 * relations to which a product belongs. Parsing threads derive it. The transaction that writes the document of a
 * product also writes its derived data, so a reader never sees one without the other.
 */
export interface Derivation {
  /** @returns the present derivation; call it on a snapshot */
  open(file: CatalogFile): Derive;
  place(file: CatalogFile, placed: PlacedBatch): void;
  remove(file: CatalogFile, documents: readonly number[]): void;
  /** Reorganises a part of the derived data. @returns whether there may be more to do */
  tidy(file: CatalogFile): boolean;
}

/**
 * The same for PostgreSQL, which works in batches. `place` and `remove` run in the transaction that changes the
 * documents.
 */
export interface BatchDerivation {
  open(session: SqlSession, projectId: number): Promise<Derive>;
  place(tx: SqlTransaction, projectId: number, placed: PlacedBatch): Promise<void>;
  remove(tx: SqlTransaction, projectId: number, documents: readonly number[]): Promise<void>;
}

/** The part of an upload that a derivation can read. */
export interface DerivedFrom extends Pick<UploadedProduct, OwnField> {
  readonly categories: readonly Pick<UploadedProduct['categories'][number], 'path'>[];
  readonly attributes: readonly Pick<AttributeValue, 'key' | 'value' | 'row'>[];
}

/** The products of a body, by row. Numbers represent the texts of attributes, because most texts repeat. */
export interface DerivedSource {
  /**
   * The keys that are read, in the order of their numbers. Reading all keys of a product takes five times as
   * long.
   */
  readonly keys: readonly string[];
  /** Sources with the same `texts` object give a text of a key the same number. */
  readonly texts: object;
  readOwn(row: number, field: OwnField): string;
  /** @returns the same object for the same categories */
  categoriesOf(row: number): DerivedFrom['categories'];
  /**
   * Calls `visit` for each value of the attributes that are read. Equal numbers are equal texts of one key.
   * @param isVisited whether to visit a key, by the number of the key; without it, all keys that are read are
   * visited
   */
  visitTexts(row: number, visit: VisitText, isVisited?: readonly boolean[]): void;
  textOf(key: number, text: number): string;
}

export type VisitText = (key: number, text: number, ofRow: string | number | undefined) => void;

/**
 * A pure function. `open` takes the keys of the attributes to read. The same set object keeps the numbers of its
 * texts from body to body. `report` is called for each product with something to report.
 * @returns undefined if nothing is derived
 */
export type Derive = (
  open: (keys: ReadonlySet<string>) => DerivedSource,
  report: (line: ReportLine) => void,
) => DerivedBatch | undefined;

/** Derives data from the products of a body. */
export interface DerivedBatch {
  /**
   * @param position the position of the product among the packed rows
   * @param into receives the text to store with the product, if there is one
   */
  add(row: number, position: number, into: ProductPacker): void;
  /** @returns the derived columns, which are stored besides the texts */
  finish(): DerivedColumns | undefined;
}

export type PlacedDocument = Readonly<Record<'id' | 'productId', number>>;

/** A document to write, from a row of packed products. */
export interface PlannedDocument extends PlacedDocument {
  readonly row: number;
}

/** The derived data of a batch, with the documents made from its rows. */
export interface PlacedBatch {
  /** The documents with derived data; `derived` is never empty. */
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
