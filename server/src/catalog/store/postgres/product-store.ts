import { CopyRows, copyInto, performOn, refuseOtherBytes } from '../../../storage/storage.ts';
import type { AppliedProducts, ChangeCounts, ChangeOrder, FollowedProducts, Stale } from '../../port.ts';
import { hashOf, sortedRows } from '../../products/products.ts';
import { announceFollowed, announceProducts } from '../change-events-store.ts';
import { reserveCategories } from '../ontology-store.ts';
import { arePresentAsFound } from '../product-list-store.ts';
import type { PlannedDocument } from '../staged-store.ts';
import { WANTED_PRODUCTS } from './reader-store.ts';
import {
  applyTask,
  type CatalogChange,
  changeCatalog,
  copyDocuments,
  type PostgresWriter,
} from './writer-store.ts';

/** Changes of present products outside a full update in PostgreSQL; each function one transaction. */

type Change = ChangeOrder & AppliedProducts;

interface ChangedProduct extends PlannedDocument {
  readonly identifier: string;
  /** The document that the product had; undefined: the product is new. */
  readonly before: number | undefined;
}

/** Writes what an incremental or partial update changed. */
export function applyProducts(
  writer: PostgresWriter,
  projectId: number,
  change: Change,
): Promise<ChangeCounts | Stale> {
  return applyTask<ChangeCounts | Stale>(writer, { projectId, ...change }, async (catalog) => {
    const { row } = catalog;
    const isStale =
      row.ontologyRevision !== change.revision ||
      row.derivationRevision !== change.derivationRevision ||
      !(await performOn(catalog.tx, projectId, arePresentAsFound(row, change.packed)));
    if (isStale) return { result: { stale: true }, isDone: false };
    await performOn(catalog.tx, projectId, reserveCategories(row, change.packed.paths));
    const products = await planProducts(catalog, change);
    await copyDocuments(catalog, change.packed, products);
    const created = products.filter(({ before }) => before === undefined);
    const changed = products.filter(({ before }) => before !== undefined);
    await insertProducts(catalog, change, created);
    await updateProducts(catalog, change, changed);
    const told = products.map(({ identifier, before }) => ({
      identifier,
      kind: before === undefined ? ('created' as const) : ('changed' as const),
    }));
    refuseOtherBytes(change.packed.bytes, change.packed.sample);
    await performOn(catalog.tx, projectId, announceProducts(change, told));
    row.nextProductId += created.length;
    row.nextDocumentId += products.length;
    const unchanged = change.packed.documents.length - products.length;
    return {
      result: { created: created.length, changed: changed.length, unchanged, deleted: 0 },
      isDone: true,
    };
  });
}

/** Those that bring a document, with their ids. */
async function planProducts(
  { tx, projectId, row: catalog }: CatalogChange,
  { packed }: Change,
): Promise<ChangedProduct[]> {
  const rows = sortedRows(packed).filter(({ row }) => (packed.documents[row] ?? 0) === 0);
  const present = await tx.rows<{ identifier: string; id: number; document: number }>(
    `select p.identifier, p.id, p.document_id as document from ${WANTED_PRODUCTS}`,
    [projectId, rows.map(({ identifier }) => identifier)],
  );
  const known = new Map(present.map((product) => [product.identifier, product]));
  let { nextProductId, nextDocumentId } = catalog;
  return rows.map(({ row, identifier }) => {
    const found = known.get(identifier);
    const productId = found?.id ?? nextProductId++;
    return { row, identifier, productId, id: nextDocumentId++, before: found?.document };
  });
}

const PRODUCT = copyInto('product', [
  ...[
    'project_id',
    'id',
    'identifier',
    'document_id',
    'hash',
    'ontology_revision',
    'updated_at',
    'updated_by',
  ],
]);

async function insertProducts(
  { tx, projectId }: CatalogChange,
  { packed, revision, at, taskNumber }: Change,
  created: readonly ChangedProduct[],
): Promise<void> {
  if (created.length === 0) return;
  const rows = new CopyRows(8, created.length * 128);
  for (const { row, id, identifier, productId } of created) {
    rows.begin().integer(projectId).integer(productId).text(identifier).integer(id);
    rows.bytes(hashOf(packed, row)).integer(revision).integer(at).integer(taskNumber);
  }
  await tx.copyIn(PRODUCT, rows.finish());
}

/** Lists as parameters, not COPY: these rows are narrow, and a staging table would be written and emptied again. */
async function updateProducts(
  { tx, projectId }: CatalogChange,
  { packed, revision, at, taskNumber }: Change,
  changed: readonly ChangedProduct[],
): Promise<void> {
  if (changed.length === 0) return;
  await tx.run(
    `insert into garbage_document (project_id, document_id)
     select $1, g.* from unnest($2::bigint[]) g on conflict do nothing`,
    [projectId, changed.map(({ before }) => before ?? 0)],
  );
  // They are there, so this changes them: by the index, which an update that is joined with a list may do without.
  await tx.run(
    `insert into product (project_id, id, identifier, document_id, hash, ontology_revision, updated_at, updated_by)
     select $1, c.*, $8::bigint, $2::bigint, $3::bigint
     from unnest($4::bigint[], $5::text[], $6::bigint[], $7::bytea[]) c
     on conflict (project_id, id) do update set document_id = excluded.document_id, hash = excluded.hash,
       ontology_revision = excluded.ontology_revision, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
    [
      projectId,
      at,
      taskNumber,
      changed.map(({ productId }) => productId),
      changed.map(({ identifier }) => identifier),
      changed.map(({ id }) => id),
      changed.map(({ row }) => Buffer.from(hashOf(packed, row))),
      revision,
    ],
  );
}

/** Notes which ontology products follow that are still what they were when they were looked at. */
export function followOntology(
  writer: PostgresWriter,
  projectId: number,
  { revision, products, documents, changed, at, taskNumber }: ChangeOrder & FollowedProducts,
): Promise<void> {
  return changeCatalog(writer, projectId, async ({ tx, row }) => {
    await tx.run(
      `insert into product (project_id, id, identifier, document_id, hash, ontology_revision, updated_at, updated_by)
       select $1, p.id, p.identifier, p.document_id, p.hash, $3,
         case when w.changed then $2 else p.updated_at end, case when w.changed then $7 else p.updated_by end
       from unnest($4::bigint[], $5::bigint[], $6::boolean[]) w (id, document, changed)
       cross join lateral (select * from product where project_id = $1 and id = w.id limit 1) p
       where p.document_id = w.document and p.ontology_revision < $3
       on conflict (project_id, id) do update
       set ontology_revision = excluded.ontology_revision, updated_at = excluded.updated_at,
         updated_by = excluded.updated_by`,
      [projectId, at, revision, products, documents, changed, taskNumber],
    );
    const told = products.filter((_, at) => changed[at]);
    await performOn(tx, projectId, announceFollowed({ at, taskNumber }, told));
    row.catalogVersion += 1;
  });
}
