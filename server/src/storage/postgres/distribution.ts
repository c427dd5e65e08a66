import type { SqlSession } from '../program.ts';
import type { SqlTransaction } from './connections.ts';

/**
 * Where the rows of each table lie when the database is a Citus coordinator (docs/operating.md, "Sharding"). On plain
 * PostgreSQL nothing reads this. A new table belongs to one of the two lists; distribution.test.ts fails while it is in none.
 */

/** On the worker of their project, by `project_id`, so that a statement of a project is one of a single worker. */
export const DISTRIBUTED = [
  ...['document', 'product', 'attribute', 'attribute_id', 'past_ontology', 'category'],
  ...[
    'staged_batch',
    'undo_created',
    'search_entry',
    'search_progress',
    'search_word',
    'search_document',
    'search_walk',
  ],
  ...['undo_log', 'undo_change', 'garbage_document', 'catalog_event', 'relation', 'relation_build'],
  ...[
    'relation_document',
    'relation_member',
    'relation_link_source',
    'relation_link',
    'value_table',
    'payload',
    'catalog',
  ],
] as const;

/**
 * On the coordinator: small rows, written in transactions of many tables and read across projects. No statement of a
 * distributed table reads one, so none has to be a reference table, whose every change is made on all workers.
 */
export const COORDINATED = [
  ...[
    'account',
    'project_group',
    'project',
    'api_key',
    'console_user',
    'console_session',
    'owner_link',
    'invitation',
  ],
  ...[
    'passkey',
    'passkey_challenge',
    'password_window',
    'rate_window',
    'audit_log',
    'idempotent_answer',
    'service',
  ],
  ...[
    'task',
    'task_log',
    'task_report',
    'full_update',
    'full_update_batch',
    'arriving_batch',
    'upload_process',
  ],
  ...['pipeline', 'pipeline_run', 'channel', 'channel_build', 'channel_snapshot', 'dismissed_suggestion'],
  ...['service_event', 'webhook_endpoint', 'webhook_message', 'webhook_delivery', 'webhook_queue'],
  ...['request_count', 'catalog_count', 'noted_request'],
] as const;

/** What a cluster is. */
export interface Cluster {
  /** Of Citus, as people write it; undefined: plain PostgreSQL. */
  readonly version: string | undefined;
  readonly workers: number;
  /** Tables that are distributed, and over how many shards. */
  readonly distributed: ReadonlyMap<string, number>;
}

export async function inspectCluster(session: SqlSession): Promise<Cluster> {
  const [extension] = await session.rows<{ version: string }>(
    `select extversion as version from pg_extension where extname = 'citus'`,
  );
  if (extension === undefined) return { version: undefined, workers: 0, distributed: new Map() };
  const [nodes] = await session.rows<{ workers: number }>(
    `select count(*) as workers from pg_dist_node where noderole = 'primary' and isactive and shouldhaveshards`,
  );
  const tables = await session.rows<{ name: string; shards: number }>(
    `select logicalrelid::text as name, count(*) as shards from pg_dist_shard group by 1`,
  );
  return {
    version: extension.version,
    workers: nodes?.workers ?? 0,
    distributed: new Map(tables.map(({ name, shards }) => [name, shards])),
  };
}

/** @returns the statements that distribute the tables that are not yet; none when all are */
export function planDistribution({ distributed }: Cluster, shards: number): string[] {
  const [first] = DISTRIBUTED;
  return DISTRIBUTED.filter((name) => !distributed.has(name)).map((name) => {
    // The first one decides; the shards of the others lie beside its own.
    const how =
      name === first ? `shard_count => ${shards}, colocate_with => 'none'` : `colocate_with => '${first}'`;
    return `select create_distributed_table('${name}', 'project_id', ${how})`;
  });
}

/** After a migration of a distributed database: tables that it made are distributed as the others are. */
export async function distributeNew(tx: SqlTransaction): Promise<void> {
  const cluster = await inspectCluster(tx);
  if (cluster.distributed.has(DISTRIBUTED[0])) await runDistribution(tx, planDistribution(cluster, 0));
}

export async function runDistribution(tx: SqlTransaction, statements: readonly string[]): Promise<void> {
  if (statements.length === 0) return;
  // Over one connection to each worker: statements of a transaction see what the ones before them made.
  await tx.run(`set local citus.multi_shard_modify_mode = 'sequential'`);
  for (const statement of statements) await tx.rows(statement);
}
