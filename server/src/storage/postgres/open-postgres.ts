import type { PostgresPoolClient } from 'kysely';
import type { PoolClient, QueryResult } from 'pg';
import type { SqlSession, SqlValue } from '../programs/programs.ts';
import { CLIENT_TIMEOUT_MS, ConnectionPool, type PostgresSettings } from './connection-pool.ts';
import { type Prepare, prepared, type SqlTransaction, sessionOn, unprepared } from './postgres-session.ts';
import { refuseMoved, type SchemaWatch } from './schema-watch.ts';
import { keepStatistics } from './table-statistics.ts';
import { beginOn, DRAFT, READ, REPEATABLE, runTransaction, SHORT_WRITE, WRITE } from './transactions.ts';

/** `signal` cancels the running statement. */
export interface Postgres extends SqlSession {
  rows<Row>(sql: string, values?: readonly SqlValue[], signal?: AbortSignal): Promise<Row[]>;
  /** Durable when it resolves. Rolls back when `work` throws. */
  transaction<Result>(work: (tx: SqlTransaction) => Promise<Result>): Promise<Result>;
  /** A transaction whose work can be repeated. A crash may lose it, but nothing that was durable before or after it. */
  repeatable<Result>(work: (tx: SqlTransaction) => Promise<Result>): Promise<Result>;
  /** Several statements that read one state and write nothing. */
  snapshot<Result>(work: (session: SqlSession) => Promise<Result>, signal?: AbortSignal): Promise<Result>;
  /** Several statements that read one state and may fill temporary tables, which the transaction drops. */
  draft<Result>(work: (tx: SqlTransaction) => Promise<Result>, signal?: AbortSignal): Promise<Result>;
  /** The number of connections of this thread in use and idle, and of callers that wait for one. */
  countConnections(): { readonly used: number; readonly idle: number; readonly waiting: number };
  /** For Kysely, which manages its own transactions. */
  connect(): Promise<PostgresPoolClient>;
  close(): Promise<void>;
}

export function openPostgres(settings: PostgresSettings): Postgres {
  const { schema } = settings;
  const pool = new ConnectionPool(settings);
  const prepare = settings.prepares ? prepared : unprepared;
  const alone = (client: PoolClient, signal?: AbortSignal) =>
    sessionOn(client, prepare, { timeout: CLIENT_TIMEOUT_MS, signal });
  const rows: Postgres['rows'] = (sql, values, signal) =>
    pool.use((client) => alone(client, signal).rows(sql, values));
  const statistics = keepStatistics({ rows });

  async function write<Result>(begin: string, work: (tx: SqlTransaction) => Promise<Result>) {
    const written = statistics.openCount();
    const result = await runTransaction(pool, work, {
      between: [begin, 'commit'],
      prepare,
      watched: schema,
      written,
    });
    await statistics.settle(written);
    return result;
  }

  return {
    rows,
    async run(sql, values) {
      refuseMoved(schema);
      return pool.use((client) => alone(client).run(sql, values));
    },
    transaction: (work) => write(WRITE, work),
    repeatable: (work) => write(REPEATABLE, work),
    snapshot: (work, signal) => runTransaction(pool, work, { between: [READ, 'commit'], prepare, signal }),
    draft: (work, signal) => runTransaction(pool, work, { between: [DRAFT, 'rollback'], prepare, signal }),
    countConnections: () => pool.count(),
    connect: () => connectKysely(pool, prepare, schema),
    close: () => pool.close(),
  };
}

/** @returns a connection whose transactions Kysely begins and ends */
async function connectKysely(
  pool: ConnectionPool,
  prepare: Prepare,
  schema: SchemaWatch | undefined,
): Promise<PostgresPoolClient> {
  const { use, release } = await pool.acquire();
  const query = async (text: string, values: readonly SqlValue[]) => {
    // The check runs outside `use`, which would close the connection after an error that is not the database's.
    if (text === 'begin') refuseMoved(schema);
    return use<Pick<QueryResult, 'rows'>>(async (client) => {
      const order = { ...prepare(text, values), query_timeout: CLIENT_TIMEOUT_MS };
      if (text !== 'begin') return client.query(order);
      await beginOn(client, SHORT_WRITE, schema);
      return { rows: [] };
    }).catch((error: unknown) => {
      // If the connection is lost, the database has already rolled back.
      if (text === 'rollback') return { rows: [] };
      throw error;
    });
  };
  return { query, release } as PostgresPoolClient;
}
