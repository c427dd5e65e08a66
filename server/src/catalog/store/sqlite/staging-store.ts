import type { CatalogFile } from '../../../storage/storage.ts';
import type { Derivation } from '../../derivation.ts';
import type { StagedProducts } from '../../port.ts';
import { hashOf, type KeyedRow, type PackedProducts, sortedRows } from '../../products/products.ts';
import { readMeta } from './reader-store.ts';
import { insertDocument, writeMeta } from './writer-store.ts';

/** Products of open full updates; each function one transaction. */

/**
 * A batch that is staged already, e.g. before a crash, is left as it is.
 * @returns false, with nothing staged, when a product changed since it was found unchanged, or something else is
 * derived from products by now: extract the batch anew
 */
export function stageBatch(file: CatalogFile, staged: StagedProducts, derivation: Derivation): boolean {
  const { fullUpdateId, batch, packed } = staged;
  return file.transaction(() => {
    const known = file
      .prepare('select 1 from staged_batch where full_update_id = ? and batch = ?')
      .get(fullUpdateId, batch);
    if (known !== undefined) return true;
    if (Number(readMeta(file, 'derivation_revision')) !== staged.derivationRevision) return false;
    const rows = sortedRows(packed);
    if (!arePresentAsFound(file, packed, rows)) return false;
    file
      .prepare(
        'insert into staged_batch (full_update_id, batch, observed, extracted_by, report) values (?, ?, ?, ?, ?)',
      )
      .run(fullUpdateId, batch, staged.observed, staged.extractedBy, staged.report);
    stageRows(file, { staged, rows }, derivation);
    return true;
  });
}

/** A product that the catalog does not hold gets its id here, so that what is derived for it can name it. */
function stageRows(
  file: CatalogFile,
  { staged, rows }: { staged: StagedProducts; rows: readonly KeyedRow[] },
  derivation: Derivation,
): void {
  const firstId = Number(readMeta(file, 'next_product_id'));
  let nextId = firstId;
  for (const { row, identifier } of rows) {
    const known = staged.packed.products[row] ?? 0;
    const owned = { row, identifier, productId: known || nextId, isReserved: known === 0 ? 1 : 0 } as const;
    if (known === 0) nextId += 1;
    stageRow(file, staged, describeRow(file, { packed: staged.packed, owned }, derivation));
  }
  if (nextId > firstId) writeMeta(file, 'next_product_id', nextId);
}

interface StagedRow {
  readonly identifier: string;
  readonly document: number;
  readonly isFresh: 0 | 1;
  readonly productId: number;
  readonly isReserved: 0 | 1;
  readonly hash: Uint8Array;
  readonly gains: number;
}

function describeRow(
  file: CatalogFile,
  {
    packed,
    owned: { row, ...owned },
  }: { packed: PackedProducts; owned: KeyedRow & Pick<StagedRow, 'productId' | 'isReserved'> },
  derivation: Derivation,
): StagedRow {
  const present = packed.documents[row] ?? 0;
  const { productId } = owned;
  return {
    ...owned,
    document: present === 0 ? insertDocument(file, { packed, row, productId }, derivation) : present,
    isFresh: present === 0 ? 1 : 0,
    hash: hashOf(packed, row),
    gains: packed.gains[row] ?? 0,
  };
}

/** A document that was replaced may be gone already; from now on, being staged keeps it. */
function arePresentAsFound(file: CatalogFile, packed: PackedProducts, rows: readonly KeyedRow[]): boolean {
  const wanted = rows.filter(({ row }) => packed.documents[row] !== 0);
  if (wanted.length === 0) return true;
  const found = file
    .prepare(
      `select json_group_array(p.document_id) as documents
       from json_each(?) w cross join product p on p.id = w.value`,
    )
    .get(JSON.stringify(wanted.map(({ row }) => packed.products[row]))) as { documents: string };
  return found.documents === JSON.stringify(wanted.map(({ row }) => packed.documents[row]));
}

function stageRow(file: CatalogFile, { fullUpdateId, batch }: StagedProducts, staged: StagedRow): void {
  const { identifier, document, isFresh, productId, isReserved, hash, gains } = staged;
  const values = [batch, document, isFresh, productId, isReserved, hash, gains] as const;
  const { changes } = file
    .prepare(
      `insert or ignore into staged_product
       (full_update_id, identifier, batch, document_id, is_fresh, product_id, is_reserved, hash, gains_facts)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(fullUpdateId, identifier, ...values);
  if (changes > 0) return;
  // Another batch held this product: the last accepted one wins, whichever is staged first (docs/interface.md §4.4).
  const other = file
    .prepare(
      `select batch, document_id as document, is_fresh as isFresh from staged_product
       where full_update_id = ? and identifier = ?`,
    )
    .get(fullUpdateId, identifier) as { batch: number; document: number; isFresh: number };
  const isLate = other.batch > batch;
  const unused = isLate ? staged : other;
  if (unused.isFresh === 1) {
    file
      .prepare('insert or ignore into garbage_document (document_id, identifier) values (?, ?)')
      .run(unused.document, identifier);
  }
  if (isLate) return;
  file
    .prepare(
      `update staged_product set batch = ?, document_id = ?, is_fresh = ?, product_id = ?, is_reserved = ?, hash = ?,
         gains_facts = ?
       where full_update_id = ? and identifier = ?`,
    )
    .run(...values, fullUpdateId, identifier);
}
