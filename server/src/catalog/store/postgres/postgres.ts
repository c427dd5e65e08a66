/**
 * The door of the catalog in PostgreSQL: the tables of the embedded store, `project_id` in front of every key.
 */
export { createPostgresCatalogStore, postgresWriterOperations } from './catalog-store.ts';
export { createPostgresSnapshots } from './snapshot-store.ts';
export { applyPostgresChange, changePostgresCatalog } from './writer-store.ts';
