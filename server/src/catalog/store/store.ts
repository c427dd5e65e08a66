/**
 * The door of the stores: the port of `../port.ts` on SQLite files and on PostgreSQL. What both engines decide alike stands
 * beside this file; neither engine imports the other.
 */
export {
  type CatalogRow,
  createPostgresCatalogStore,
  createPostgresSnapshots,
  lockCatalog,
  postgresWriterOperations,
  readCatalogRow,
  readPostgresOntology,
  updateCatalog,
} from './postgres/postgres.ts';
export {
  createSqliteCatalogStore,
  createSqliteSnapshots,
  raiseVersion,
  readCatalogVersion,
  readerOperations,
  readMeta,
  readOntology,
  writeMeta,
  writerOperations,
} from './sqlite/sqlite.ts';
