import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { PostgresPoolClient } from 'kysely';
import type { ClientBase, PoolClient, QueryConfig, QueryResult } from 'pg';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { ServiceError } from '../../kernel/errors.ts';
import type { SqlSession, SqlValue } from '../program.ts';
import { keepStatistics, type WrittenRows } from './statistics.ts';
import { watchPool } from './watch.ts';

/** How a thread reaches the database; plain data that can be passed to threads. */
export interface PostgresSettings {
  readonly url: string;
  /** The most connections that this thread opens. */
  readonly connections: number;
  /** Whether statements are prepared once per connection; impossible behind a PgBouncer older than 1.21. */
  readonly prepares: boolean;
  /** For a process that serves the database: it stops writing once a newer program has migrated it. */
  readonly schema?: SchemaWatch;
  /** For such a process, too. */
  readonly processId?: string;
}

/** @returns the `application_name` of a process, by which others find the sessions that it left behind */
export const nameSessions = (processId?: string) => ['relata', processId ?? []].flat().join(' ');

export interface SqlTransaction extends SqlSession {
  /** Writes rows in the format of COPY … FROM STDIN. */
  copyIn(sql: string, bytes: Uint8Array): Promise<void>;
}

/** `signal` cancels the running statement. */
export interface Postgres extends SqlSession {
  rows<Row>(sql: string, values?: readonly SqlValue[], signal?: AbortSignal): Promise<Row[]>;
  /** Durable when it resolves; rolled back when `work` throws. */
  transaction<Result>(work: (tx: SqlTransaction) => Promise<Result>): Promise<Result>;
  /** A transaction whose work can be repeated: a crash may lose it, but never what was durable before or after it. */
  repeatable<Result>(work: (tx: SqlTransaction) => Promise<Result>): Promise<Result>;
  /** Several statements that see one state and write nothing. */
  snapshot<Result>(work: (session: SqlSession) => Promise<Result>, signal?: AbortSignal): Promise<Result>;
  /** Several statements that see one state and may fill temporary tables, which are dropped with it. */
  draft<Result>(work: (tx: SqlTransaction) => Promise<Result>, signal?: AbortSignal): Promise<Result>;
  /** How many connections of this thread are in use and idle, and how many callers wait for one. */
  countConnections(): { readonly used: number; readonly idle: number; readonly waiting: number };
  /** For Kysely, which brings its own transactions. */
  connect(): Promise<PostgresPoolClient>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** A read that takes longer is a bug; PostgreSQL ends it, or the client does if a proxy hides the timeout. */
const READ_TIMEOUT_MS = 60_000;
const CLIENT_TIMEOUT_MS = READ_TIMEOUT_MS + 10_000;
/** A commit of ten million products takes minutes, and other changes of its project wait for it. */
const WRITE_TIMEOUT_MS = 3_600_000;
/** Either side notices within 20 s that the other machine is gone. By default both wait for two hours. */
const KEEPALIVE_MS = 10_000;
/** For the server's socket. Behind a proxy that is its connection to the server; its own settings apply to ours. */
const KEEPALIVE = `set tcp_keepalives_idle = ${KEEPALIVE_MS / 1_000}; set tcp_keepalives_interval = 2;
  set tcp_keepalives_count = 5; set tcp_user_timeout = ${READ_TIMEOUT_MS}`;
/**
 * How long a transaction may wait for its process. Others end the sessions of a hanging one within 11 s
 * (catalog/updates/full-update-store.ts); this is for when there are none. The longest gap measured between
 * two statements is 3.3 s: the members of 10,000 products in eight relations, beside much other work.
 */
const GAP_MS = 120_000;

/**
 * Begins in one round trip, with settings for this transaction only: a proxy lends the session to others. Not
 * by `set local`, which a Citus coordinator would pass on, with all of the text, to its workers.
 */
function begin(mode: string, settings: Readonly<Record<string, number | string>> = {}): string {
  const all = { idle_in_transaction_session_timeout: GAP_MS, ...settings };
  const calls = Object.entries(all).map(([name, value]) => `set_config('${name}', '${value}', true)`);
  return `begin${mode}; select ${calls.join(', ')}`;
}

const PATIENTLY = { statement_timeout: WRITE_TIMEOUT_MS };
const WRITE = begin('', PATIENTLY);
const REPEATABLE = begin('', { ...PATIENTLY, synchronous_commit: 'off' });
const READ = begin(' isolation level repeatable read read only');
const DRAFT = begin(' isolation level repeatable read', PATIENTLY);
/** For the service's own tables, where no statement takes long. */
const SHORT_WRITE = begin(' isolation level read committed');

const INT8 = 20;

/** Every integer of the schema is below 2^53, so a number holds it. */
function parserOf(oid: number, format?: string): unknown {
  if (oid === INT8 && format !== 'binary') return Number;
  return pg.types.getTypeParser(oid, format as 'text');
}

/** A bounded pool of connections. Sessions hold no state, so that a proxy may pool them per transaction. */
export function openPostgres(settings: PostgresSettings): Postgres {
  const { url, prepares, schema } = settings;
  const pool = createPool(settings);
  const watch = watchPool(pool, url);
  let ended: Promise<void> | undefined;

  /** After a failed statement the connection is reused if the database refused the statement, and closed otherwise. */
  async function acquire() {
    if (watch.isAway()) throw refuseAway();
    const client = await pool.connect().catch((error) => {
      throw translatePostgresError(error);
    });
    let isBroken = false;
    const onFault = () => {
      isBroken = true;
    };
    client.on('error', onFault);
    return {
      async use<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
        try {
          return await work(client);
        } catch (error) {
          isBroken ||= !isRefusedStatement(error);
          throw translatePostgresError(error);
        }
      },
      release() {
        client.off('error', onFault);
        client.release(isBroken);
      },
    };
  }

  async function withClient<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const held = await acquire();
    return held.use(work).finally(held.release);
  }

  const prepare: typeof prepared = prepares
    ? prepared
    : (text, values) => ({ text, values: toValues(values) });
  const alone = (client: PoolClient, signal?: AbortSignal) =>
    sessionOn(client, prepare, { timeout: CLIENT_TIMEOUT_MS, signal });

  async function between<Result>(
    [begin, end]: readonly [string, string],
    work: (tx: SqlTransaction) => Promise<Result>,
    { signal, watched, written }: TransactionParts = {},
  ): Promise<Result> {
    refuseMoved(watched);
    return withClient(async (client) => {
      await beginOn(client, begin, watched);
      try {
        const result = await work(sessionOn(client, prepare, { signal, written }));
        await client.query(end);
        return result;
      } catch (error) {
        // A lost connection has rolled back already.
        await client.query('rollback').catch(() => {});
        throw error;
      }
    });
  }

  const rows: Postgres['rows'] = (sql, values, signal) =>
    withClient((client) => alone(client, signal).rows(sql, values));
  const statistics = keepStatistics({ rows });

  async function write<Result>(begin: string, work: (tx: SqlTransaction) => Promise<Result>) {
    const written = statistics.openCount();
    const result = await between([begin, 'commit'], work, { watched: schema, written });
    await statistics.settle(written);
    return result;
  }

  return {
    rows,
    async run(sql, values) {
      refuseMoved(schema);
      return withClient((client) => alone(client).run(sql, values));
    },
    transaction: (work) => write(WRITE, work),
    repeatable: (work) => write(REPEATABLE, work),
    snapshot: (work, signal) => between([READ, 'commit'], work, { signal }),
    draft: (work, signal) => between([DRAFT, 'rollback'], work, { signal }),
    countConnections: () => ({
      used: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    async connect() {
      const { use, release } = await acquire();
      const query = async (text: string, values: readonly SqlValue[]) => {
        // Not in `use`, which closes the connection after an error that is not the database's.
        if (text === 'begin') refuseMoved(schema);
        return use<Pick<QueryResult, 'rows'>>(async (client) => {
          const order = { ...prepare(text, values), query_timeout: CLIENT_TIMEOUT_MS };
          if (text !== 'begin') return client.query(order);
          await beginOn(client, SHORT_WRITE, schema);
          return { rows: [] };
        }).catch((error: unknown) => {
          // A lost connection has rolled back already.
          if (text === 'rollback') return { rows: [] };
          throw error;
        });
      };
      return { query, release } as PostgresPoolClient;
    },
    close() {
      watch.stop();
      ended ??= pool.end();
      return ended;
    },
  };
}

interface TransactionParts {
  readonly signal?: AbortSignal | undefined;
  readonly watched?: SchemaWatch | undefined;
  readonly written?: WrittenRows;
}

/** Begins a transaction, and reads the schema with it if that is due. @throws schema_moved */
async function beginOn(client: PoolClient, begin: string, watched: SchemaWatch | undefined): Promise<void> {
  if (!isStale(watched)) return void (await client.query(begin));
  // Several statements answer with a list, which the driver's types do not know.
  const answers = (await client.query(`${begin}; ${READ_SCHEMA}`)) as unknown as QueryResult[];
  noteSchema(watched, answers.at(-1)?.rows[0]);
  try {
    refuseMoved(watched);
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

function createPool({ url, connections, processId }: PostgresSettings): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 30_000,
    statement_timeout: READ_TIMEOUT_MS,
    application_name: nameSessions(processId),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_MS,
    onConnect: keepAliveThere,
    types: { getTypeParser: parserOf },
  });
  // The database may close an idle connection: the next statement opens another.
  pool.on('error', () => {});
  return pool;
}

/** A server whose sockets lack these options may refuse them. */
async function keepAliveThere(client: ClientBase): Promise<void> {
  const order = { text: KEEPALIVE, query_timeout: CONNECT_TIMEOUT_MS };
  await client.query(order).catch((error: unknown) => {
    if (!isRefusedStatement(error)) throw error;
  });
}

/** The beginning of a text of transaction settings, which may have several statements. */
const SETTINGS = 'set local ';

/** `timeout` in ms, after which the client gives up. */
function sessionOn(
  client: PoolClient,
  prepare: typeof prepared,
  {
    timeout,
    signal,
    written,
  }: { timeout?: number; signal: AbortSignal | undefined; written?: WrittenRows | undefined },
): SqlTransaction {
  const query = async (sql: string, values: readonly SqlValue[] = []) => {
    const answer = await cancelOn(signal, client, () => {
      // Several statements in one round trip, which cannot be prepared.
      const order = sql.startsWith(SETTINGS) ? { text: sql } : prepare(sql, values);
      return client.query({ ...order, ...(timeout && { query_timeout: timeout }) });
    });
    written?.add(sql, answer.rowCount ?? 0);
    return answer;
  };
  return {
    rows: async <Row>(sql: string, values?: readonly SqlValue[]) => (await query(sql, values)).rows as Row[],
    run: async (sql, values) => (await query(sql, values)).rowCount ?? 0,
    async copyIn(sql, bytes) {
      const rows = await cancelOn(signal, client, () => copyInto(client, sql, bytes));
      written?.add(sql, rows);
    },
  };
}

/** Five letters or digits: the database answered, so the connection is still good. */
function isRefusedStatement(error: unknown): boolean {
  const { code, severity } = error as { code?: string; severity?: string };
  return /^[0-9A-Z]{5}$/.test(code ?? '') && severity !== 'FATAL';
}

const names = new Map<string, string>();
const PREPARED_NAMES = 2_000;

/** The same text gets the same name on every connection, since a proxy shares connections between processes. */
function prepared(text: string, values: readonly SqlValue[]): QueryConfig {
  let name = names.get(text);
  if (name === undefined) {
    name = `relata_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
    if (names.size < PREPARED_NAMES) names.set(text, name);
  }
  return { name, text, values: toValues(values) };
}

/** The driver sends buffers as bytes, and any other view as text. */
function toValues(values: readonly SqlValue[]): unknown[] {
  return values.map((value) =>
    value instanceof Uint8Array && !Buffer.isBuffer(value)
      ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
      : value,
  );
}

/** The size of one message. */
const COPY_CHUNK_BYTES = 256 * 1024;

/** @returns the number of rows */
async function copyInto(client: PoolClient, sql: string, bytes: Uint8Array): Promise<number> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const cut = function* () {
    for (let at = 0; at < buffer.length; at += COPY_CHUNK_BYTES)
      yield buffer.subarray(at, at + COPY_CHUNK_BYTES);
  };
  const copying = client.query(copyFrom(sql));
  await pipeline(cut, copying);
  return copying.rowCount;
}

/** Members of a connection that the driver's types omit. */
interface Connected {
  readonly host: string;
  readonly port: number;
  readonly processID: number;
  readonly secretKey: number;
}

/** Source: PostgreSQL documentation, message formats, CancelRequest. */
const CANCEL_REQUEST = 80_877_102;

/**
 * Runs a statement and cancels it when its caller stops waiting. Do not use the connection again after that:
 * the cancel request may arrive after the statement has ended.
 * @throws the reason of the signal
 */
async function cancelOn<Result>(
  signal: AbortSignal | undefined,
  client: PoolClient,
  run: () => Promise<Result>,
): Promise<Result> {
  if (signal === undefined) return run();
  signal.throwIfAborted();
  const cancel = () => sendCancel(client as unknown as Connected);
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await run();
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** Uses a separate connection without TLS, which the server does not require here; PgBouncer passes the request on. */
function sendCancel({ host, port, processID, secretKey }: Connected): void {
  const request = Buffer.alloc(16);
  for (const [at, value] of [request.length, CANCEL_REQUEST, processID, secretKey].entries()) {
    request.writeInt32BE(value, at * 4);
  }
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.setTimeout(5_000, () => socket.destroy());
  // If the server is unreachable, it has ended the statement, or its timeout will.
  socket.on('error', () => {});
  socket.end(request);
}

/** SQLSTATE. Source: PostgreSQL documentation, appendix A. */
const DISK_FULL = '53100';
/** The disk or its contents cannot be read: io_error, data_corrupted, index_corrupted. */
const FAILED: ReadonlySet<string> = new Set(['58030', 'XX001', 'XX002']);
/** Connection exceptions, too many connections, shutdown, crash, starting up, a hanging transaction, and what only a standby refuses. */
const UNAVAILABLE = /^(?:08...|53[0234]00|57P0[1-5]|25P03|25006|40001|40P01|55P03)$/;
const NETWORK = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'],
  ...['ENETUNREACH', 'ECONNABORTED', 'ENOENT'],
]);
/** Messages of the driver for a lost connection, which have no code. */
const GONE =
  /connection terminated|connection error|timeout exceeded when trying to connect|query read timeout/i;
/**
 * Errors of a Citus coordinator that lost a worker, as XX000: its own (placement_connection.c, multi_copy.c,
 * remote_transaction.c, intermediate_results.c, 13.2.2), and those of libpq and of the worker's PostgreSQL,
 * which it passes on unchanged, including an empty one (remote_commands.c).
 */
const WORKER_GONE =
  /connection marked as essential|failed to prepare transaction|to fetch intermediate results|failed to read result|could not commit transaction for shard|could not connect to any active placements|server closed the connection|could not (?:send|receive) data|no connection to the server|connection not open|terminating connection|^\s*$/i;
const INTERNAL = 'XX000';
const CANCELLED = '57014';
/** A restart takes seconds, a failover up to a minute. */
const RETRY_SECONDS = 2;

export const isTimedOut = (error: unknown) => (error as { code?: string }).code === CANCELLED;

/** Refuses a statement without sending it, because the database does not answer. */
const refuseAway = (cause?: Error) =>
  new ServiceError('not_ready', { retryAfterSeconds: RETRY_SECONDS, cause });

/** @returns `not_ready` if it is unreachable, `storage_full` on a full disk, `storage_failed` on a failing or damaged one; others unchanged */
export function translatePostgresError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ServiceError) return error;
  const { code = '' } = error as Error & { code?: string };
  if (code === DISK_FULL) return new ServiceError('storage_full', { cause: error });
  if (FAILED.has(code)) {
    return new ServiceError('storage_failed', { retryAfterSeconds: RETRY_SECONDS, cause: error });
  }
  const isWorkerGone = code === INTERNAL && WORKER_GONE.test(error.message);
  if (isWorkerGone || UNAVAILABLE.test(code) || NETWORK.has(code) || GONE.test(error.message)) {
    return refuseAway(error);
  }
  return error;
}

/**
 * What a process knows about the schema of its database, which a newer program may migrate meanwhile: it must not write what
 * that program does not expect. In shared memory, for all threads of the process; plain data that can be passed to them.
 */
type SchemaWatch = Float64Array<SharedArrayBuffer>;

/** The newest schema that this program knows. */
const KNOWN = 0;
/** When the schema was read, in ms of the machine's monotonic clock; 0 before. */
const READ_AT = 1;
/** The version that this program is too old for; 0 if none. */
const MOVED_TO = 2;

/** Half of the time after which a newer program considers a process gone (`GONE_MS` in migrate.ts). */
const STALE_MS = 5_000;

export function createSchemaWatch(known: number): SchemaWatch {
  const watch = new Float64Array(new SharedArrayBuffer(3 * Float64Array.BYTES_PER_ELEMENT));
  watch[KNOWN] = known;
  return watch;
}

const READ_SCHEMA =
  'select schema_version as version, compatible_from as oldest, compatible_to as newest from service where id = 1';

interface PresentSchema {
  readonly version: number;
  /** Programs that know schema `oldest` or a later one can work with schemas up to `newest`. */
  readonly oldest: number;
  readonly newest: number;
}

/** A clock that continues while the process hangs, and is the same for all its threads. */
const now = () => Number(process.hrtime.bigint() / 1_000_000n);

/** Whether a transaction has to read the schema itself, because the process hung or the database was unreachable. */
function isStale(watch: SchemaWatch | undefined): watch is SchemaWatch {
  const readAt = watch?.[READ_AT] ?? 0;
  return readAt > 0 && now() - readAt > STALE_MS;
}

function noteSchema(watch: SchemaWatch, { version, oldest, newest }: PresentSchema): void {
  const known = watch[KNOWN] ?? 0;
  const fits = version === known || (oldest <= known && known <= version && version <= newest);
  watch[MOVED_TO] = fits ? 0 : version;
  watch[READ_AT] = now();
}

/** @throws schema_moved */
export function refuseMoved(watch: SchemaWatch | undefined): void {
  const version = watch?.[MOVED_TO];
  if (!version) return;
  const why = `the database has schema ${version}, this program knows ${watch[KNOWN]}: stop it and start the newer one`;
  throw new ServiceError('schema_moved', { retryAfterSeconds: 10, details: [why] });
}

/** Reads the schema periodically. @returns a function that stops this */
export async function watchSchema(postgres: SqlSession, watch: SchemaWatch): Promise<() => void> {
  const read = async () => {
    const [present] = await postgres.rows<PresentSchema>(READ_SCHEMA);
    if (present !== undefined) noteSchema(watch, present);
  };
  await read();
  // While the database is unreachable the watch becomes stale, and the next transactions read the schema themselves.
  const timer = setInterval(() => void read().catch(() => {}), 1_000).unref();
  return () => clearInterval(timer);
}
