/** The door of PostgreSQL: connections, the control database on it, replicas, bulk copies. */

export { isTimedOut } from './connection-errors.ts';
export { nameSessions, type PostgresSettings } from './connection-pool.ts';
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
export { openPostgres, type Postgres } from './open-postgres.ts';
export type { SqlTransaction } from './postgres-session.ts';
export { Readers, type ReplicatedSettings } from './replicas.ts';
export { createSchemaWatch, refuseMoved, watchSchema } from './schema-watch.ts';
export { tryWrites } from './trial-writes.ts';
