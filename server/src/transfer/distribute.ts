import {
  inspectCluster,
  migratePostgres,
  planDistribution,
  runDistribution,
} from '../storage/postgres/postgres.ts';
import { hidePassword, openMoved, refuseServed } from './move-postgres.ts';

export interface DistributionOptions {
  readonly url: string;
  /** The highest number of shards that the projects are divided into; a project is in one. */
  readonly shards: number;
  /** Whether to report only, and change nothing. */
  readonly isDryRun?: boolean;
}

/**
 * Distributes the projects of a database over the workers of Citus, in one transaction. Running it again changes nothing.
 * @returns also the statements that were run, or would be: none when everything is distributed already
 * @throws Error without Citus or workers, or when the database is served
 */
export async function distributeStore({ url, shards, isDryRun = false }: DistributionOptions) {
  const postgres = openMoved(url);
  try {
    const cluster = await inspectCluster(postgres);
    const { version, workers } = cluster;
    if (version === undefined)
      throw new Error(
        `${hidePassword(url)} has no Citus: create extension citus there and on each worker first`,
      );
    if (workers === 0)
      throw new Error(`${hidePassword(url)} has no workers: add them with citus_add_node first`);
    const planned = planDistribution(cluster, shards);
    // Read when a session begins; it passes what `planForParts` and the like set to planners of workers (state-store.ts).
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
