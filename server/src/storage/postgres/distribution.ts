import type { SqlSession } from '../programs/programs.ts';
import type { SqlTransaction } from './postgres-session.ts';

/** The table that determines the shard of a project. The shards of the other tables are colocated with its shards. */
const FIRST = 'document';

/**
 * Tables that are distributed by `project_id` when the database is a Citus coordinator (docs/operating/postgresql.md,
 * "Sharding"). A statement on a project then runs on a single worker. All other tables are on the coordinator: they
 * have small rows, which are written in transactions over many tables and read across projects. No statement on a
 * distributed table reads them, so they need not be reference tables, which Citus changes on all workers each time.
 * distributed-sql.test.ts fails for a new catalog table that is not listed.
 */
export const DISTRIBUTED =
  `${FIRST} product attribute attribute_id past_ontology category staged_batch undo_created
  search_entry search_progress search_word search_document search_walk undo_log undo_change garbage_document
  catalog_event relation relation_build relation_document relation_member relation_link_source relation_link
  value_table payload catalog`.split(/\s+/);

export type Cluster = Awaited<ReturnType<typeof inspectCluster>>;

export async function inspectCluster(session: SqlSession) {
  const [extension] = await session.rows<{ version: string }>(
    `select extversion as version from pg_extension where extname = 'citus'`,
  );
  if (extension === undefined)
    return { version: undefined, workers: 0, distributed: new Map<string, number>() };
  const [nodes] = await session.rows<{ workers: number }>(
    `select count(*) as workers from pg_dist_node where noderole = 'primary' and isactive and shouldhaveshards`,
  );
  const tables = await session.rows<{ name: string; shards: number }>(
    `select logicalrelid::text as name, count(*) as shards from pg_dist_shard group by 1`,
  );
  return {
    /** The Citus version as people write it; undefined for plain PostgreSQL. */
    version: extension.version,
    workers: nodes?.workers ?? 0,
    /** The distributed tables, each with its number of shards. */
    distributed: new Map(tables.map(({ name, shards }) => [name, shards])),
  };
}

/**
 * Whether a worker may have caused the failure of a statement: the coordinator answers, and projects are on workers.
 */
export async function isWorkerAway(coordinator: SqlSession): Promise<boolean> {
  return inspectCluster(coordinator).then(
    ({ distributed }) => distributed.has(FIRST),
    () => false,
  );
}

/** @returns the statements that distribute the remaining tables; none if all are distributed */
export function planDistribution({ distributed }: Cluster, shards: number): string[] {
  return DISTRIBUTED.filter((name) => !distributed.has(name)).map((name) => {
    const how =
      name === FIRST ? `shard_count => ${shards}, colocate_with => 'none'` : `colocate_with => '${FIRST}'`;
    return `select create_distributed_table('${name}', 'project_id', ${how})`;
  });
}

/** Distributes the tables that a migration created, if the database is distributed. */
export async function distributeNew(tx: SqlTransaction): Promise<void> {
  const cluster = await inspectCluster(tx);
  if (cluster.distributed.has(FIRST)) await runDistribution(tx, planDistribution(cluster, 0));
}

export async function runDistribution(tx: SqlTransaction, statements: readonly string[]): Promise<void> {
  if (statements.length === 0) return;
  // Uses one connection to each worker, so that each statement sees what earlier ones in the transaction created.
  await tx.run(`set local citus.multi_shard_modify_mode = 'sequential'`);
  for (const statement of statements) await tx.rows(statement);
}
