/**
 * The door of catalogs in PostgreSQL.
 */
export {
  applyPostgresChange,
  changePostgresCatalog,
  createPostgresCatalogStore,
  postgresWriterOperations,
} from './catalog-store.ts';
export { createPostgresSnapshots } from './reader-store.ts';
