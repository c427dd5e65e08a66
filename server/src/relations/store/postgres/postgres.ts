/** The door of relations in PostgreSQL. */
export { relationBatchDerivation } from './membership-store.ts';
export {
  createPostgresPasses,
  createPostgresRelationStore,
  postgresRelationReaderOperations,
  postgresRelationWriterOperations,
} from './relation-store.ts';
