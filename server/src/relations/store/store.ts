/**
 * The door of the stores: relations on SQLite files and on PostgreSQL, each behind threads.
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
export type { RelationStore } from './threaded-relations.ts';
