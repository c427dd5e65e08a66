/**
 * The door of catalogs in PostgreSQL.
 */
export {
  applyPostgresChange,
  changePostgresCatalog,
  createPostgresCatalogStore,
  createPostgresSnapshots,
  postgresWriterOperations,
} from './catalog-store.ts';
