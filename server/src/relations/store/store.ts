/**
 * The door of the stores: the port of `../port.ts` on SQLite files and on PostgreSQL, each behind threads.
 */
export type { CatalogPass, CatalogPasses, PassedRelation } from './catalog-pass.ts';
export {
  createPostgresPasses,
  createPostgresRelationStore,
  postgresRelationReaderOperations,
  postgresRelationWriterOperations,
  relationBatchDerivation,
} from './postgres/postgres.ts';
export {
  createSqlitePasses,
  createSqliteRelationStore,
  relationDerivation,
  relationReaderOperations,
  relationWriterOperations,
} from './sqlite/sqlite.ts';
