/**
 * The door of the stores, which implement `../port.ts` on SQLite files and on PostgreSQL. Programs that both
 * engines run are beside this file; neither engine imports the other.
 */
export {
  areCut,
  countRows,
  DOCUMENT,
  fittingRows,
  listedColumns,
  listUploads,
  placedColumns,
  uploadText,
} from './product-list-store.ts';
export {
  applyFromOutside,
  type CatalogState,
  type ChangedCatalog,
  changeCatalog,
  changeFromOutside,
  planForLexemes,
  planForParts,
  readOntology,
} from './state-store.ts';
