/** The door of relations in PostgreSQL. */
export { relationBatchDerivation } from './membership-store.ts';
export { createPostgresPasses, openRowReads, openRowWriter, rowCatalogs } from './relation-catalogs.ts';
