import type { SqlSession, SqlTransaction } from '../storage/postgres/postgres.ts';
import type { CatalogFile } from '../storage/sqlite/sqlite.ts';
import type { ReportLine } from '../tasks/tasks.ts';
import type { OwnField } from './filters/filters.ts';
import {
  type AttributeValue,
  derivedOf,
  type PackedProducts,
  type UploadedProduct,
} from './products/products.ts';

/**
 * What rooms to the right derive from products and keep in the catalog's file, e.g. on which sides of relations a
 * product stands. It is derived where products are parsed, and written in the transaction that writes their document,
 * so a reader never sees one without the other.
 */
export interface Derivation {
  /** @returns what is derived by now; call it on a snapshot */
  open(file: CatalogFile): Derive;
  /** Writes what was derived for documents. */
  place(file: CatalogFile, placed: readonly DerivedText[]): void;
  /** The documents are removed. */
  remove(file: CatalogFile, documents: readonly number[]): void;
}

/** The same for a store that works in batches: PostgreSQL. Every call is in the transaction that writes the documents. */
export interface BatchDerivation {
  open(session: SqlSession, projectId: number): Promise<Derive>;
  place(tx: SqlTransaction, projectId: number, placed: readonly DerivedText[]): Promise<void>;
  remove(tx: SqlTransaction, projectId: number, documents: readonly number[]): Promise<void>;
}

export interface OpenDerivation {
  /** Raised when anything is derived otherwise; what was derived by another revision is not written. */
  readonly revision: number;
  readonly derive: Derive;
}

/** What of an upload is derived from. */
export interface DerivedFrom extends Pick<UploadedProduct, OwnField> {
  readonly categories: readonly Pick<UploadedProduct['categories'][number], 'path'>[];
  readonly attributes: readonly Pick<AttributeValue, 'key' | 'value' | 'row'>[];
}

/** @returns a product with the attributes of these keys at least: to read all of one takes five times as long */
export type ReadDerivedFrom = (keys: ReadonlySet<string>) => DerivedFrom;

/**
 * Pure. `read` is called only if anything is derived, `report` where there is something to say of the product.
 * @returns text to be stored with the product; '' when there is none
 */
export type Derive = (read: ReadDerivedFrom, report: (line: ReportLine) => void) => string;

export interface PlacedDocument {
  readonly id: number;
  readonly productId: number;
}

export interface DerivedText extends PlacedDocument {
  /** Not ''. */
  readonly derived: string;
}

/** @returns of documents, each with its row, those for which anything was derived */
export const listDerived = (
  packed: PackedProducts,
  placed: readonly (PlacedDocument & { readonly row: number })[],
): DerivedText[] =>
  placed.flatMap(({ row, id, productId }) => {
    const derived = derivedOf(packed, row);
    return derived === '' ? [] : [{ id, productId, derived }];
  });
