/** The door of relations in the embedded store. They are in the same file as the project's catalog. */
export { relationDerivation } from './membership-store.ts';
export { createSqlitePasses, fileCatalogs, openFileReads, openFileWriter } from './relation-catalogs.ts';
