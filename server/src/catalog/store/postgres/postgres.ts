/**
 * The door of the catalog in PostgreSQL: the tables of the embedded store, `project_id` in front of every key.
 */
export {
  type CatalogRow,
  lockCatalog,
  readCatalogRow,
  readPostgresOntology,
  updateCatalog,
} from './catalog-row-store.ts';
export { createPostgresCatalogStore, postgresWriterOperations } from './catalog-store.ts';
export { createPostgresSnapshots } from './snapshot-store.ts';
