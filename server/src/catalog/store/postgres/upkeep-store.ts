import type { SqlTransaction } from '../../../storage/storage.ts';
import { performOn } from '../../../storage/storage.ts';
import { dropGarbage } from '../upkeep-store.ts';
import { planForParts } from './planning-store.ts';
import { changeCatalog, type PostgresWriter } from './writer-store.ts';

/** Removing what nothing points to in PostgreSQL; each function one transaction. */

export function collectGarbage(
  writer: PostgresWriter,
  projectId: number,
  { live }: { live: readonly number[] },
): Promise<boolean> {
  return changeCatalog(writer, projectId, async ({ tx, derivation }) => {
    await planForParts(tx);
    const needed = [...live, ...(await listOpened(tx, projectId))];
    const removeDerived = (documents: readonly number[]) => derivation.remove(tx, projectId, documents);
    return performOn(tx, projectId, dropGarbage(needed, removeDerived));
  });
}

/** Since the caller looked, another process may have begun a full update and staged products. */
async function listOpened(tx: SqlTransaction, projectId: number): Promise<number[]> {
  const rows = await tx.rows<{ id: number }>(
    "select id from full_update where project_id = $1 and state in ('open', 'committing')",
    [projectId],
  );
  return rows.map(({ id }) => id);
}

const CATALOG_TABLES = [
  ...['document', 'product', 'attribute', 'attribute_id', 'past_ontology', 'category'],
  ...['staged_product', 'staged_batch'],
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
