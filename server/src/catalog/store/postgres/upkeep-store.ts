import { performOn } from '../../../storage/storage.ts';
import { dropGarbage } from '../upkeep-store.ts';
import { changeCatalog, type PostgresWriter, repeatable } from './writer-store.ts';

/** Removes garbage and whole catalogs in PostgreSQL; each function is one transaction. */

export function collectGarbage(
  writer: PostgresWriter,
  projectId: number,
  limits: Parameters<typeof dropGarbage>[0],
): Promise<boolean> {
  return changeCatalog(repeatable(writer), projectId, ({ tx, derivation }) => {
    const removeDerived = (documents: readonly number[]) => derivation.remove(tx, projectId, documents);
    return performOn(tx, projectId, dropGarbage(limits, removeDerived));
  });
}

const CATALOG_TABLES = [
  ...['document', 'product', 'attribute', 'attribute_id', 'past_ontology', 'category'],
  ...['staged_batch', 'undo_created', 'search_document', 'search_walk'],
  ...['undo_log', 'undo_change', 'garbage_document', 'catalog_event', 'relation', 'relation_build'],
  ...['relation_document', 'relation_member', 'relation_link_source', 'relation_link', 'payload', 'catalog'],
];

/** Removes all rows of a project's catalog, also those that a running change is about to write. */
export function removeCatalog(writer: PostgresWriter, projectId: number): Promise<void> {
  return changeCatalog(writer, projectId, async ({ tx }) => {
    for (const table of CATALOG_TABLES)
      await tx.run(`delete from ${table} where project_id = $1`, [projectId]);
  });
}
