/** The door of catalogs in PostgreSQL. */
export {
  createPostgresCatalogStore,
  createPostgresSnapshots,
  postgresWriterOperations,
} from './catalog-store.ts';
