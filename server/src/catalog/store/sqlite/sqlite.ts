/**
 * The door of the embedded store: one SQLite file a project.
 */
export {
  applySqliteChange,
  changeSqliteCatalog,
  createSqliteCatalogStore,
  readerOperations,
  writerOperations,
} from './catalog-store.ts';
export {
  createSqliteSnapshots,
  findCategoryId,
  PRODUCTS_WITHOUT_DOCUMENT,
  readCatalogVersion,
} from './reader-store.ts';
