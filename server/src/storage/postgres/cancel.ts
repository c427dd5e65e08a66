import { connect } from 'node:net';
import type { PoolClient } from 'pg';

/** Members of a connection that the driver's types omit. */
interface Connected {
  readonly host: string;
  readonly port: number;
  readonly processID: number;
  readonly secretKey: number;
}

/** Source: PostgreSQL documentation, message formats, CancelRequest. */
const CANCEL_REQUEST = 80_877_102;
const CANCEL_TIMEOUT_MS = 5_000;

/**
 * Runs a statement and cancels it when its caller stops waiting. Do not use the connection again after that:
 * the cancel request may arrive after the statement has ended.
 * @throws the reason of the signal
 */
export async function cancelOn<Result>(
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

/** Over a separate connection, without TLS, which the server does not require here; PgBouncer passes it on. */
function sendCancel({ host, port, processID, secretKey }: Connected): void {
  const request = Buffer.alloc(16);
  for (const [at, value] of [request.length, CANCEL_REQUEST, processID, secretKey].entries()) {
    request.writeInt32BE(value, at * 4);
  }
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy());
  // An unreachable server has ended the statement, or its timeout will.
  socket.on('error', () => {});
  socket.end(request);
}
