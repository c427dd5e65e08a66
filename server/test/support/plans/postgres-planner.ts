import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../postgres/postgres-server.ts';
import { createDatabase } from '../postgres/test-database.ts';
import { Stops } from '../stops.ts';
import { startTestService } from '../test-service.ts';
import { postgresStoreOn } from '../test-store.ts';
import type { RefusedLoops } from './allowed-loops.ts';
import { fillService } from './filled-service.ts';
import { judgePlan, type LoggedPlan } from './postgres-plans.ts';

/** Plans statements on a filled database without running them. */
export interface Planner extends AsyncDisposable {
  judgeAll(statements: readonly string[]): Promise<JudgedPlans>;
}

export interface JudgedPlans {
  readonly judged: readonly RefusedLoops[];
  /**
   * Statements that the database cannot plan, each with its reason. The database lacks temporary tables and tables of
   * other tests, and the types of some parameters depend on their values.
   */
  readonly unplanned: readonly { readonly sql: string; readonly reason: string }[];
}

/** Texts of statements that differ only in the number of their parameters are one statement. */
const shapeOf = (sql: string) => sql.replaceAll(/\$\d+(?:::[\w[\]]+)?(?:, ?\$\d+(?:::[\w[\]]+)?)+/g, '$…');

/**
 * PostgreSQL plans with `generic_plan`, without values, like a connection that reuses a plan. Without sequential scans
 * a plan shows whether any index can be used, whatever the number of rows.
 */
export async function openPlanner(): Promise<Planner> {
  const server = await startPostgres({});
  const database = await createDatabase(server.url);
  const store = postgresStoreOn(database, await mkdtemp(join(tmpdir(), 'relata-planner-')));
  const stops = new Stops();
  const service = await startTestService(stops, { store });
  await fillService(service);
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query('analyze');
  await client.query('set enable_seqscan = off');

  async function judge(sql: string): Promise<RefusedLoops> {
    const { rows } = await client.query(`explain (generic_plan, verbose, format json) ${sql}`);
    const [plan] = rows[0]['QUERY PLAN'] as [Pick<LoggedPlan, 'Plan'>];
    return { sql, refused: judgePlan({ 'Query Text': sql, ...plan }) };
  }

  return {
    async judgeAll(statements) {
      const shapes = new Map(statements.map((sql) => [shapeOf(sql), sql.replace(/\s+/g, ' ')]));
      const judged: RefusedLoops[] = [];
      const unplanned: { sql: string; reason: string }[] = [];
      for (const sql of shapes.values())
        await judge(sql).then(
          (plan) => judged.push(plan),
          (error: Error) => unplanned.push({ sql, reason: error.message }),
        );
      return { judged, unplanned };
    },
    async [Symbol.asyncDispose]() {
      await client.end();
      await stops.stopAll();
      await store.remove();
      await server.stop();
    },
  };
}
