/**
 * The door of the stores, which implement `../port.ts` on SQLite files and on PostgreSQL. Programs that both
 * engines run are beside this file; neither engine imports the other.
 */
export { listUploads } from './product-list-store.ts';
export { applyFromOutside, type ChangedCatalog, changeFromOutside, readOntology } from './state-store.ts';
