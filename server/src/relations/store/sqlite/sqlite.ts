/**
 * The door of relations in the embedded store, in the same file as the project's catalog.
 */
export { relationDerivation } from './membership-store.ts';
export { createSqlitePasses } from './pass-store.ts';
export { relationReaderOperations } from './reader-store.ts';
export { createSqliteRelationStore, relationWriterOperations } from './relation-store.ts';
