/**
 * The door of PostgreSQL: connections, the control database on it, replicas, bulk copies.
 */
export {
  nameSessions,
  openPostgres,
  type Postgres,
  type PostgresSettings,
  type SqlSession,
  type SqlTransaction,
  type SqlValue,
} from './connections.ts';
export { openPostgresDatabase } from './control-database.ts';
export { CopyRows, copyInto } from './copy-rows.ts';
export { inspectPostgres, type PostgresFacts } from './inspect.ts';
export { GONE_MS, migratePostgres } from './migrate.ts';
export { isTimedOut } from './postgres-errors.ts';
export { createReaders, type Readers } from './replicas.ts';
export { createSchemaWatch, refuseMoved, watchSchema } from './schema-watch.ts';
export { tryWrites } from './trial-writes.ts';
