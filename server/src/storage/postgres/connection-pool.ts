import type { ClientBase, PoolClient } from 'pg';
import pg from 'pg';
import { isRefusedStatement, refuseAway, translatePostgresError } from './connection-errors.ts';
import { watchPool } from './pool-watch.ts';
import type { SchemaWatch } from './schema-watch.ts';

/** How a thread reaches the database. It is plain data that can be passed to threads. */
export interface PostgresSettings {
  readonly url: string;
  /** The most connections that this thread opens. */
  readonly connections: number;
  /** Whether each connection prepares a statement once. This fails behind a PgBouncer older than 1.21. */
  readonly prepares: boolean;
  /** Set for a process that serves the database: it stops writing once a newer program has migrated the database. */
  readonly schema?: SchemaWatch;
  /** Also set only for a process that serves the database. */
  readonly processId?: string;
}

/** @returns the `application_name` of a process, by which other processes find the sessions that it left behind */
export const nameSessions = (processId?: string) => ['relata', processId ?? []].flat().join(' ');

const CONNECT_TIMEOUT_MS = 5_000;
/** A longer read is a fault. PostgreSQL ends the read; behind a proxy that hides the timeout, the client ends it. */
const READ_TIMEOUT_MS = 60_000;
export const CLIENT_TIMEOUT_MS = READ_TIMEOUT_MS + 10_000;
/** Each side notices within 20 s that the other machine is gone. The default of both is two hours. */
const KEEPALIVE_MS = 10_000;
/**
 * For the server's socket. Behind a proxy, this is the proxy's connection to the server; the proxy's settings apply to
 * ours.
 */
const KEEPALIVE = `set tcp_keepalives_idle = ${KEEPALIVE_MS / 1_000}; set tcp_keepalives_interval = 2;
  set tcp_keepalives_count = 5; set tcp_user_timeout = ${READ_TIMEOUT_MS}`;

/** A connection in use. */
export interface HeldConnection {
  /** @throws errors of the database, converted by `translatePostgresError` */
  use<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result>;
  /** The connection is reused if the database refused a statement, and it is closed after any other failure. */
  release(): void;
}

/** A bounded pool of connections. Sessions have no state, so a proxy may pool them per transaction. */
export class ConnectionPool {
  private readonly pool: pg.Pool;
  private readonly watch: ReturnType<typeof watchPool>;
  private ended: Promise<void> | undefined;

  constructor(settings: PostgresSettings) {
    this.pool = createPool(settings);
    this.watch = watchPool(this.pool, settings.url);
  }

  /** @throws not_ready */
  async acquire(): Promise<HeldConnection> {
    if (this.watch.isAway()) throw refuseAway();
    const client = await this.pool.connect().catch((error) => {
      throw translatePostgresError(error);
    });
    return holdConnection(client);
  }

  async use<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const held = await this.acquire();
    return held.use(work).finally(held.release);
  }

  count(): { readonly used: number; readonly idle: number; readonly waiting: number } {
    const { totalCount, idleCount: idle, waitingCount: waiting } = this.pool;
    return { used: totalCount - idle, idle, waiting };
  }

  close(): Promise<void> {
    this.watch.stop();
    this.ended ??= this.pool.end();
    return this.ended;
  }
}

function holdConnection(client: PoolClient): HeldConnection {
  let isBroken = false;
  const onFault = () => {
    isBroken = true;
  };
  client.on('error', onFault);
  return {
    async use(work) {
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

const INT8 = 20;

/** Every integer of the schema is below 2^53, so a number holds it. */
function parserOf(oid: number, format?: string): unknown {
  if (oid === INT8 && format !== 'binary') return Number;
  return pg.types.getTypeParser(oid, format as 'text');
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
  // The database may close an idle connection. The next statement then opens another.
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
