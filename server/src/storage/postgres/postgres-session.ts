import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { PoolClient, QueryConfig } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { SqlSession, SqlValue } from '../programs/programs.ts';
import type { WrittenRows } from './table-statistics.ts';

export interface SqlTransaction extends SqlSession {
  /** Writes rows in the format of COPY … FROM STDIN. */
  copyIn(sql: string, bytes: Uint8Array): Promise<void>;
}

/** A text with this beginning may have several statements, so it is not prepared. */
const SETTINGS = 'set local ';

/** `timeout` is in ms; after it the client stops waiting. */
export function sessionOn(
  client: PoolClient,
  prepare: Prepare,
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

/** Makes the driver's query configuration for a statement. */
export type Prepare = (text: string, values: readonly SqlValue[]) => QueryConfig;

/** For a proxy that does not support prepared statements. */
export const unprepared: Prepare = (text, values) => ({ text, values: toValues(values) });

const names = new Map<string, string>();
const PREPARED_NAMES = 2_000;

/** The same text has the same name on every connection, because a proxy shares connections between processes. */
export function prepared(text: string, values: readonly SqlValue[]): QueryConfig {
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
    for (let offset = 0; offset < buffer.length; offset += COPY_CHUNK_BYTES)
      yield buffer.subarray(offset, offset + COPY_CHUNK_BYTES);
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
 * Runs a statement and cancels it when its caller stops waiting. Do not reuse the connection after that, because the
 * cancel request may arrive after the statement has ended.
 * @throws the reason of the signal
 */
async function cancelOn<Result>(
  signal: AbortSignal | undefined,
  client: PoolClient,
  run: () => Promise<Result>,
): Promise<Result> {
  if (signal === undefined) return run();
  signal.throwIfAborted();
  const cancel = () => sendCancel(client as PoolClient & Connected);
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await run();
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/**
 * Uses a separate connection without TLS, which the server does not require for a cancel request. PgBouncer passes the
 * request on.
 */
function sendCancel({ host, port, processID, secretKey }: Connected): void {
  const request = Buffer.alloc(16);
  for (const [offset, value] of [request.length, CANCEL_REQUEST, processID, secretKey].entries()) {
    request.writeInt32BE(value, offset * 4);
  }
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.setTimeout(5_000, () => socket.destroy());
  // An unreachable server has ended the statement already, or ends it at its timeout.
  socket.on('error', () => {});
  socket.end(request);
}
