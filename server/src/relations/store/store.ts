/**
 * The door of the stores: the port of `../port.ts` on SQLite files and on PostgreSQL, each behind threads.
 */

export {
  createPostgresPasses,
  createPostgresRelationStore,
  postgresRelationReaderOperations,
  postgresRelationWriterOperations,
  relationBatchDerivation,
} from './postgres/postgres.ts';
export type { CatalogPass, CatalogPasses, PassedRelation } from './relation-reader.ts';
export {
  createSqlitePasses,
  createSqliteRelationStore,
  relationDerivation,
  relationReaderOperations,
  relationWriterOperations,
} from './sqlite/sqlite.ts';
