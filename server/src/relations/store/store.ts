/**
 * The door of the stores: the port of `../port.ts` on SQLite files and on PostgreSQL, each behind threads.
 */
export {
  createPostgresRelationStore,
  postgresRelationReaderOperations,
  postgresRelationWriterOperations,
  relationBatchDerivation,
} from './postgres/postgres.ts';
export {
  createSqliteRelationStore,
  relationDerivation,
  relationReaderOperations,
  relationWriterOperations,
} from './sqlite/sqlite.ts';
