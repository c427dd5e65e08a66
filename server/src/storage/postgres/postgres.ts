/** The door of PostgreSQL: connections, the control database on it, replicas, bulk copies. */
export type { SqlSession, SqlValue } from '../program.ts';
export * from './connections.ts';
export * from './control-database.ts';
export * from './copy-rows.ts';
export * from './distribution.ts';
export * from './migrate.ts';
export * from './replicas.ts';
export * from './trial-writes.ts';
