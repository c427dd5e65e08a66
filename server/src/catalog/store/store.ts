/**
 * The door of the stores, which implement `../port.ts` on SQLite files and on PostgreSQL. Programs that both engines run are
 * beside this file; neither engine imports the other.
 */
export {
  applyPostgresChange,
  changePostgresCatalog,
  createPostgresCatalogStore,
  createPostgresSnapshots,
  postgresWriterOperations,
} from './postgres/postgres.ts';
export {
  applySqliteChange,
  changeSqliteCatalog,
  createSqliteCatalogStore,
  createSqliteSnapshots,
  findCategoryId,
  PRODUCTS_WITHOUT_DOCUMENT,
  readCatalogVersion,
  readerOperations,
  writerOperations,
} from './sqlite/sqlite.ts';
export { type ChangedCatalog, readOntology } from './state-store.ts';
