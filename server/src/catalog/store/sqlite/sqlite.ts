/**
 * The door of the embedded store: one SQLite file a project.
 */
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
} from './catalog-store.ts';
