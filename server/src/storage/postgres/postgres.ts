/** The door of PostgreSQL: connections, the control database on it, replicas, bulk copies. */
export type { SqlSession, SqlValue } from '../program.ts';
export {
  createSchemaWatch,
  isTimedOut,
  nameSessions,
  openPostgres,
  type Postgres,
  type PostgresSettings,
  refuseMoved,
  type SqlTransaction,
  watchSchema,
} from './connections.ts';
export { openPostgresDatabase } from './control-database.ts';
export { CopyRows, copyInto } from './copy-rows.ts';
export {
  DISTRIBUTED,
  inspectCluster,
  isWorkerAway,
  planDistribution,
  runDistribution,
} from './distribution.ts';
export { GONE_MS, inspectPostgres, isEmpty, migratePostgres, type PostgresFacts } from './migrate.ts';
export { createReaders, type Readers, type ReplicatedSettings } from './replicas.ts';
export { tryWrites } from './trial-writes.ts';
