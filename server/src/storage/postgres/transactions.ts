import type { PoolClient, QueryResult } from 'pg';
import type { ConnectionPool } from './connection-pool.ts';
import { type Prepare, type SqlTransaction, sessionOn } from './postgres-session.ts';
import { isStale, noteSchema, READ_SCHEMA, refuseMoved, type SchemaWatch } from './schema-watch.ts';
import type { WrittenRows } from './table-statistics.ts';

/** A commit of ten million products takes minutes, and other changes of its project wait for it meanwhile. */
const WRITE_TIMEOUT_MS = 3_600_000;
/**
 * How long a transaction may stay idle between two statements. Other processes end the sessions of a hanging process
 * within 11 s (catalog/updates/upload-process-store.ts), so this limit matters only without other processes. The
 * longest measured gap is 3.3 s: the members of 10,000 products in eight relations, under load.
 */
const GAP_MS = 120_000;

/**
 * Begins a transaction in one round trip, with settings for this transaction only, because a proxy lends the session to
 * other clients. It does not use `set local`, whose whole text a Citus coordinator would pass on to its workers.
 */
function begin(mode: string, settings: Readonly<Record<string, number | string>> = {}): string {
  const all = { idle_in_transaction_session_timeout: GAP_MS, ...settings };
  const calls = Object.entries(all).map(([name, value]) => `set_config('${name}', '${value}', true)`);
  return `begin${mode}; select ${calls.join(', ')}`;
}

const PATIENTLY = { statement_timeout: WRITE_TIMEOUT_MS };
export const WRITE = begin('', PATIENTLY);
export const REPEATABLE = begin('', { ...PATIENTLY, synchronous_commit: 'off' });
export const READ = begin(' isolation level repeatable read read only');
export const DRAFT = begin(' isolation level repeatable read', PATIENTLY);
/** For the service's own tables, which have only short statements. */
export const SHORT_WRITE = begin(' isolation level read committed');

interface TransactionParts {
  /** The statements that begin and end the transaction. */
  readonly between: readonly [begin: string, end: string];
  readonly prepare: Prepare;
  readonly signal?: AbortSignal | undefined;
  readonly watched?: SchemaWatch | undefined;
  readonly written?: WrittenRows;
}

/** Runs `work` in a transaction, and rolls back when it throws. @throws schema_moved */
export async function runTransaction<Result>(
  pool: ConnectionPool,
  work: (tx: SqlTransaction) => Promise<Result>,
  { between: [begin, end], prepare, signal, watched, written }: TransactionParts,
): Promise<Result> {
  refuseMoved(watched);
  return pool.use(async (client) => {
    await beginOn(client, begin, watched);
    try {
      const result = await work(sessionOn(client, prepare, { signal, written }));
      await client.query(end);
      return result;
    } catch (error) {
      // If the connection is lost, the database has already rolled back.
      await client.query('rollback').catch(() => {});
      throw error;
    }
  });
}

/**
 * Begins a transaction, and reads the schema in the same round trip if a check is due.
 * @throws schema_moved
 */
export async function beginOn(
  client: PoolClient,
  begin: string,
  watched: SchemaWatch | undefined,
): Promise<void> {
  if (!isStale(watched)) return void (await client.query(begin));
  // The driver returns a list for several statements, but its types do not declare it.
  const answers = (await client.query(`${begin}; ${READ_SCHEMA}`)) as unknown as QueryResult[];
  noteSchema(watched, answers.at(-1)?.rows[0]);
  try {
    refuseMoved(watched);
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}
