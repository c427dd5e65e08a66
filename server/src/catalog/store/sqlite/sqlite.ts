/**
 * The door of the embedded store: one SQLite file a project.
 */
export { createSqliteCatalogStore, readerOperations, writerOperations } from './catalog-store.ts';
export { createSqliteSnapshots, readCatalogVersion, readMeta, readOntology } from './reader-store.ts';
export { raiseVersion, writeMeta } from './writer-store.ts';
