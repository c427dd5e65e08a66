import { CopyRows, copyInto } from '../../../storage/storage.ts';
import type { StagedProducts } from '../../port.ts';
import { hashOf, type KeyedRow, type PackedProducts, sortedRows } from '../../products/products.ts';
import { type CatalogChange, changeCatalog, copyDocuments, type PostgresWriter } from './writer-store.ts';

/** Products of open full updates in PostgreSQL; each function one transaction. */

/**
 * A batch that is staged already, e.g. by another process, is left as it is.
 * @returns false, with nothing staged, when a product changed since it was found unchanged, or something else is
 * derived from products by now: extract the batch anew
 */
export function stageBatch(
  writer: PostgresWriter,
  projectId: number,
  staged: StagedProducts,
): Promise<boolean> {
  const { fullUpdateId, batch, packed } = staged;
  return changeCatalog(writer, projectId, async (change) => {
    const { tx, row } = change;
    const others = await tx.rows<{ batch: number }>(
      'select batch from staged_batch where project_id = $1 and full_update_id = $2',
      [projectId, fullUpdateId],
    );
    if (others.some((other) => other.batch === batch)) return true;
    if (row.derivationRevision !== staged.derivationRevision) return false;
    const rows = sortedRows(packed);
    if (!(await arePresentAsFound(change, packed, rows))) return false;
    const settled = others.length === 0 ? NONE_REPEATED : await settleRepeated(change, staged, rows);
    await tx.run(
      `insert into staged_batch (project_id, full_update_id, batch, observed, extracted_by, report)
       values ($1, $2, $3, $4, $5, $6)`,
      [projectId, fullUpdateId, batch, staged.observed, staged.extractedBy, staged.report],
    );
    await writeRows(change, staged, { rows, ...settled });
    return true;
  });
}

/** A document that was replaced may be gone already; from now on, being staged keeps it. */
async function arePresentAsFound(
  { tx, projectId }: CatalogChange,
  packed: PackedProducts,
  rows: readonly KeyedRow[],
): Promise<boolean> {
  const present = rows.filter(({ row }) => packed.documents[row] !== 0);
  if (present.length === 0) return true;
  const [found] = await tx.rows<{ count: number }>(
    `select count(*) as count from unnest($2::text[], $3::bigint[], $4::bytea[]) w (identifier, document, hash)
     cross join lateral (select * from product where project_id = $1 and identifier = w.identifier limit 1) p
     where p.document_id = w.document and p.hash = w.hash`,
    [
      projectId,
      present.map(({ identifier }) => identifier),
      present.map(({ row }) => packed.documents[row] ?? 0),
      present.map(({ row }) => Buffer.from(hashOf(packed, row))),
    ],
  );
  return found?.count === present.length;
}

/** Identifiers that another batch of the full update holds too. */
interface Repeated {
  /** Its row is replaced. */
  readonly early: ReadonlySet<string>;
  /** Its row stays. */
  readonly late: ReadonlySet<string>;
}

const NONE_REPEATED: Repeated = { early: new Set(), late: new Set() };

/**
 * Where another batch holds a product too, the last accepted one wins, whichever is staged first (docs/interface.md
 * §4.4).
 */
async function settleRepeated(
  { tx, projectId }: CatalogChange,
  { fullUpdateId, batch }: StagedProducts,
  rows: readonly KeyedRow[],
): Promise<Repeated> {
  const repeated = await tx.rows<{ identifier: string; batch: number; document: number; isFresh: number }>(
    `select s.identifier, s.batch, s.document_id as document, s.is_fresh as "isFresh"
     from unnest($3::text[]) w (identifier) cross join lateral
       (select * from staged_product where project_id = $1 and full_update_id = $2 and identifier = w.identifier
        limit 1) s`,
    [projectId, fullUpdateId, rows.map(({ identifier }) => identifier)],
  );
  const replaced = repeated.filter((other) => other.batch < batch);
  const unused = replaced.filter(({ isFresh }) => isFresh === 1);
  await tx.run(
    `insert into garbage_document (project_id, document_id, identifier)
     select $1, g.* from unnest($2::bigint[], $3::text[]) g on conflict do nothing`,
    [projectId, unused.map(({ document }) => document), unused.map(({ identifier }) => identifier)],
  );
  const late = repeated.filter((other) => other.batch > batch);
  return {
    early: new Set(replaced.map(({ identifier }) => identifier)),
    late: new Set(late.map(({ identifier }) => identifier)),
  };
}

/** With an identifier of 60 bytes. */
const ROW_BYTES = 192;
const STAGED = copyInto('staged_product', [
  ...['project_id', 'full_update_id', 'identifier', 'batch', 'document_id', 'is_fresh', 'product_id'],
  ...['is_reserved', 'hash', 'gains_facts'],
]);

/** A staged row with the ids of its product and its document. */
interface OwnedRow extends KeyedRow {
  readonly productId: number;
  readonly isReserved: boolean;
  readonly document: number;
  readonly isFresh: boolean;
}

/** A product that the catalog does not hold gets its id here, so that what is derived for it can name it. */
async function writeRows(
  change: CatalogChange,
  staged: StagedProducts,
  { rows, early, late }: Repeated & { rows: readonly KeyedRow[] },
): Promise<void> {
  const { tx, projectId } = change;
  const owned = giveIds(
    change,
    staged.packed,
    rows.filter(({ identifier }) => !late.has(identifier)),
  );
  const fresh = owned.filter(({ isFresh }) => isFresh);
  const reserved = owned.filter(({ isReserved }) => isReserved);
  const planned = fresh.map(({ row, document, productId }) => ({ row, id: document, productId }));
  await copyDocuments(change, staged.packed, planned);
  const isReplacing = ({ identifier }: OwnedRow) => early.has(identifier);
  await replaceRows(change, staged, owned.filter(isReplacing));
  const added = owned.filter((row) => !isReplacing(row));
  await tx.copyIn(STAGED, packRows(projectId, staged, added));
  change.row.nextProductId += reserved.length;
  change.row.nextDocumentId += fresh.length;
}

async function replaceRows(
  { tx, projectId }: CatalogChange,
  { fullUpdateId, batch, packed }: StagedProducts,
  rows: readonly OwnedRow[],
): Promise<void> {
  if (rows.length === 0) return;
  await tx.run(
    `insert into staged_product (project_id, full_update_id, batch, identifier, document_id, is_fresh, product_id,
       is_reserved, hash, gains_facts)
     select $1, $2, $3, r.* from unnest($4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
       $9::bytea[], $10::bigint[]) r
     on conflict (project_id, full_update_id, identifier) do update set batch = excluded.batch,
       document_id = excluded.document_id, is_fresh = excluded.is_fresh, product_id = excluded.product_id,
       is_reserved = excluded.is_reserved, hash = excluded.hash, gains_facts = excluded.gains_facts`,
    [
      ...[projectId, fullUpdateId, batch],
      rows.map(({ identifier }) => identifier),
      rows.map(({ document }) => document),
      rows.map(({ isFresh }) => Number(isFresh)),
      rows.map(({ productId }) => productId),
      rows.map(({ isReserved }) => Number(isReserved)),
      rows.map(({ row }) => Buffer.from(hashOf(packed, row))),
      rows.map(({ row }) => packed.gains[row] ?? 0),
    ],
  );
}

function giveIds(
  { row: { nextProductId, nextDocumentId } }: CatalogChange,
  packed: PackedProducts,
  rows: readonly KeyedRow[],
): OwnedRow[] {
  let [product, document] = [nextProductId, nextDocumentId];
  return rows.map(({ row, identifier }) => {
    const [isReserved, isFresh] = [packed.products[row] === 0, packed.documents[row] === 0];
    const productId = isReserved ? product++ : (packed.products[row] ?? 0);
    const id = isFresh ? document++ : (packed.documents[row] ?? 0);
    return { row, identifier, productId, isReserved, document: id, isFresh };
  });
}

function packRows(
  projectId: number,
  { fullUpdateId, batch, packed }: StagedProducts,
  rows: readonly OwnedRow[],
): Uint8Array {
  const copied = new CopyRows(10, rows.length * ROW_BYTES);
  for (const { row, identifier, productId, isReserved, document, isFresh } of rows) {
    copied.begin().integer(projectId).integer(fullUpdateId).text(identifier).integer(batch);
    copied.integer(document).integer(Number(isFresh)).integer(productId).integer(Number(isReserved));
    copied.bytes(hashOf(packed, row)).integer(packed.gains[row] ?? 0);
  }
  return copied.finish();
}
