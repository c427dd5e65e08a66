/** The door of the embedded store: one SQLite file per project. */
export {
  createSqliteCatalogStore,
  createSqliteSnapshots,
  findCategoryId,
  PRODUCTS_WITHOUT_DOCUMENT,
  readCatalogVersion,
  readerOperations,
  readVersionOfTurn,
  writerOperations,
} from './catalog-store.ts';
