import { isStorableText } from '../../../kernel/storable-text.ts';
import type { ChangeOrder, RestoreResult } from '../../port.ts';
import { planForParts, planForWholeTables } from './planning-store.ts';
import { WANTED_PRODUCTS } from './reader-store.ts';
import { dropUndoBeyond, openUndo, playBack } from './undo-store.ts';
import { applyTask, type CatalogChange, changeCatalog, type PostgresWriter } from './writer-store.ts';

/** Deleting, restoring and removing what nothing points to in PostgreSQL; each function one transaction. */

export function deleteProducts(
  writer: PostgresWriter,
  projectId: number,
  change: ChangeOrder & { identifiers: readonly string[]; keptCommits: number },
): Promise<{ deleted: number; unknown: readonly string[] }> {
  return applyTask(writer, { projectId, ...change }, async (catalog) => {
    const { tx } = catalog;
    await planForParts(tx);
    const wanted = [...new Set(change.identifiers)];
    const values = [projectId, wanted.filter(isStorableText)];
    const present = await tx.rows<{ identifier: string }>(
      `select p.identifier from ${WANTED_PRODUCTS}`,
      values,
    );
    const known = present.map(({ identifier }) => identifier);
    const isKnown = new Set(known);
    const unknown = wanted.filter((identifier) => !isKnown.has(identifier));
    if (known.length === 0) return { result: { deleted: 0, unknown }, isDone: true };
    const undo = await openUndo(catalog, change);
    await undo.recordDeleted(known);
    await dropUndoBeyond(tx, projectId, change.keptCommits);
    const deleted = await tx.run(
      'delete from product where project_id = $1 and identifier = any($2)',
      values,
    );
    return { result: { deleted, unknown }, isDone: true };
  });
}

/** @returns undefined when nothing is left to restore */
export async function restore(
  writer: PostgresWriter,
  projectId: number,
  change: ChangeOrder,
): Promise<RestoreResult | undefined> {
  const { result } = await applyTask<{ result: RestoreResult | null }>(
    writer,
    { projectId, ...change },
    async (catalog) => {
      await planForWholeTables(catalog.tx);
      return { result: { result: (await playBack(catalog)) ?? null }, isDone: true };
    },
  );
  return result ?? undefined;
}

/** Rows a step: short enough that an update of the same project hardly waits for it. */
const STEP = 2_000;

/** As in catalog-upkeep-store.ts. @returns whether there may be more */
export function collectGarbage(
  writer: PostgresWriter,
  projectId: number,
  { live }: { live: readonly number[] },
): Promise<boolean> {
  return changeCatalog(writer, projectId, async (change) => {
    await planForParts(change.tx);
    const needed = [...live, ...(await listOpened(change))];
    return (
      (await dropStaged(change, needed)) || (await dropUndo(change)) || (await dropDocuments(change, needed))
    );
  });
}

/** Since the caller looked, another process may have begun a full update and staged products. */
async function listOpened({ tx, projectId }: CatalogChange): Promise<number[]> {
  const rows = await tx.rows<{ id: number }>(
    "select id from full_update where project_id = $1 and state in ('open', 'committing')",
    [projectId],
  );
  return rows.map(({ id }) => id);
}

async function dropStaged({ tx, projectId }: CatalogChange, live: readonly number[]): Promise<boolean> {
  const [over] = await tx.rows<{ id: number; isCommitted: boolean }>(
    `select b.full_update_id as id, exists (select 1 from committed_full_update c
       where c.project_id = $1 and c.full_update_id = b.full_update_id) as "isCommitted"
     from staged_batch b where b.project_id = $1 and b.full_update_id <> all($2) limit 1`,
    [projectId, live],
  );
  if (over === undefined) return false;
  const [last] = await tx.rows<{ identifier: string }>(
    `select identifier from staged_product where project_id = $1 and full_update_id = $2
     order by identifier limit 1 offset ${STEP - 1}`,
    [projectId, over.id],
  );
  const dropped = await tx.rows<{ identifier: string; document: number; isFresh: number }>(
    `delete from staged_product where project_id = $1 and full_update_id = $2 ${last ? 'and identifier <= $3' : ''}
     returning identifier, document_id as document, is_fresh as "isFresh"`,
    [projectId, over.id, ...(last ? [last.identifier] : [])],
  );
  const unused = over.isCommitted ? [] : dropped.filter(({ isFresh }) => isFresh === 1);
  await tx.run(
    `insert into garbage_document (project_id, document_id, identifier)
     select $1, g.* from unnest($2::bigint[], $3::text[]) g on conflict do nothing`,
    [projectId, unused.map(({ document }) => document), unused.map(({ identifier }) => identifier)],
  );
  if (last !== undefined) return true;
  for (const table of ['staged_batch', 'committed_full_update'])
    await tx.run(`delete from ${table} where project_id = $1 and full_update_id = $2`, [projectId, over.id]);
  return true;
}

async function dropUndo({ tx, projectId }: CatalogChange): Promise<boolean> {
  // Those that are kept are the newest.
  const [over] = await tx.rows<{ id: number | null; kept: number | null }>(
    `select (select min(undo_id) from undo_change where project_id = $1) as id,
       (select min(id) from undo_log where project_id = $1) as kept`,
    [projectId],
  );
  if (over === undefined || over.id === null || over.id >= (over.kept ?? Number.POSITIVE_INFINITY))
    return false;
  const [last] = await tx.rows<{ id: number }>(
    `select product_id as id from undo_change where project_id = $1 and undo_id = $2
     order by product_id limit 1 offset ${STEP - 1}`,
    [projectId, over.id],
  );
  const dropped = await tx.rows<{ identifier: string; document: number | null }>(
    `delete from undo_change where project_id = $1 and undo_id = $2 ${last ? 'and product_id <= $3' : ''}
     returning identifier, document_before as document`,
    [projectId, over.id, ...(last ? [last.id] : [])],
  );
  const unused = dropped.filter(({ document }) => document !== null);
  await tx.run(
    `insert into garbage_document (project_id, document_id, identifier)
     select $1, g.* from unnest($2::bigint[], $3::text[]) g on conflict do nothing`,
    [projectId, unused.map(({ document }) => document), unused.map(({ identifier }) => identifier)],
  );
  return true;
}

/** A document that an open full update staged as unchanged stays until that one is over. */
async function dropDocuments(change: CatalogChange, live: readonly number[]): Promise<boolean> {
  const { tx, projectId, derivation } = change;
  const garbage = await tx.rows<{ id: number; isUsed: boolean }>(
    `select g.document_id as id, p.is_found is not null as "isUsed" from garbage_document g
     left join lateral (select true as is_found from unnest($2::bigint[]) l (id) cross join lateral
       (select from staged_product where project_id = $1 and full_update_id = l.id and identifier = g.identifier
          and document_id = g.document_id limit 1) s limit 1) s on true
     left join lateral (select true as is_found from product where project_id = $1
       and identifier = g.identifier and document_id = g.document_id limit 1) p on true
     where g.project_id = $1 and s.is_found is null order by g.document_id limit ${STEP}`,
    [projectId, live],
  );
  if (garbage.length === 0) return false;
  const ids = garbage.map(({ id }) => id);
  const unused = garbage.flatMap(({ id, isUsed }) => (isUsed ? [] : id));
  await tx.run(
    `delete from garbage_document
     where project_id = $1 and document_id between $2 and $3 and document_id = any($4)`,
    [projectId, ids[0] ?? 0, ids.at(-1) ?? 0, ids],
  );
  await tx.run('delete from document where project_id = $1 and id = any($2)', [projectId, unused]);
  await derivation.remove(tx, projectId, unused);
  return true;
}

const CATALOG_TABLES = [
  ...['document', 'product', 'attribute', 'attribute_id', 'category', 'staged_product', 'staged_batch'],
  ...['category_document', 'category_path', 'category_walk'],
  ...['committed_full_update', 'undo_log', 'undo_change', 'garbage_document', 'relation', 'relation_build'],
  ...['relation_document', 'relation_member', 'payload', 'catalog'],
];

/** Everything that is kept of a project's catalog goes, also what a change under way is about to write. */
export function removeCatalog(writer: PostgresWriter, projectId: number): Promise<void> {
  return changeCatalog(writer, projectId, async ({ tx }) => {
    for (const table of CATALOG_TABLES)
      await tx.run(`delete from ${table} where project_id = $1`, [projectId]);
  });
}
