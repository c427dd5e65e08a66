import {
  inspectCluster,
  migratePostgres,
  planDistribution,
  runDistribution,
} from '../storage/postgres/postgres.ts';
import { hidePassword, openMoved, refuseServed } from './move-postgres.ts';

export interface DistributionOptions {
  readonly url: string;
  /** The maximum number of shards for the projects. A project is in one shard. */
  readonly shards: number;
  /** Whether to only report the statements, without running them. */
  readonly isDryRun?: boolean;
}

/**
 * Distributes the projects of a database over the workers of Citus in one transaction. A second run changes nothing.
 * @returns the numbers of workers and shards, and the statements that were or would be run; none if the projects are
 * already distributed
 * @throws Error if the database has no Citus or no workers, or is served
 */
export async function distributeStore({ url, shards, isDryRun = false }: DistributionOptions) {
  const postgres = openMoved(url);
  try {
    const cluster = await inspectCluster(postgres);
    const { version, workers } = cluster;
    if (version === undefined)
      throw new Error(
        `${hidePassword(url)} has no Citus: run create extension citus on it and on each worker first`,
      );
    if (workers === 0)
      throw new Error(`${hidePassword(url)} has no workers: add workers with citus_add_node first`);
    const planned = planDistribution(cluster, shards);
    // Sessions read this setting when they begin. It passes local settings, such as those of `planForParts` in
    // state-store.ts, to the planners of the workers.
    const [present] = await postgres.rows<{ name: string; mode: string }>(
      `select current_database() as name, current_setting('citus.propagate_set_commands') as mode`,
    );
    const settings =
      present?.mode === 'local'
        ? []
        : [`alter database "${present?.name}" set citus.propagate_set_commands = 'local'`];
    const statements = [...settings, ...planned];
    if (statements.length > 0 && !isDryRun) {
      await migratePostgres(postgres);
      await refuseServed(postgres, hidePassword(url));
      await postgres.transaction((tx) => runDistribution(tx, statements));
    }
    return { workers, shards: [...cluster.distributed.values()][0] ?? shards, statements };
  } finally {
    await postgres.close();
  }
}
