/**
 * The door of relations in PostgreSQL.
 */
export { relationBatchDerivation } from './membership-store.ts';
export { createPostgresPasses } from './pass-store.ts';
export { postgresRelationReaderOperations } from './reader-store.ts';
export { createPostgresRelationStore, postgresRelationWriterOperations } from './relation-store.ts';
