import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Seconds until a caller should retry. A start that migrates is usually ready by then. */
const RETRY_AFTER = '5';

const BODIES = {
  alive: { status: 'ok' },
  starting: { status: 'failure', code: 503, reason: 'not_ready', message: 'Service Unavailable' },
};

export type Door = Awaited<ReturnType<typeof openDoor>>;

/**
 * Listens at the address of the service from the beginning of a start until the service itself listens. Answers 200 on
 * `/health/live`, because the process runs, and 503 on all other paths. Source: docs/interface §10.3.
 * @throws Error that names the settings, when it cannot listen there
 */
export async function openDoor(address: Address) {
  const server = createServer(answer);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(address, resolve);
  await promise.catch((error: Error) => {
    throw refuseAddress(address, error);
  });
  let closed: Promise<void> | undefined;
  return {
    /** Releases the address for the service. */
    close(): Promise<void> {
      closed ??= new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      });
      return closed;
    },
  };
}

function answer({ url, method }: IncomingMessage, response: ServerResponse): void {
  const isAlive = url?.split('?', 1)[0] === '/health/live' && (method === 'GET' || method === 'HEAD');
  const text = JSON.stringify(isAlive ? BODIES.alive : BODIES.starting);
  response.writeHead(isAlive ? 200 : 503, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    connection: 'close',
    ...(!isAlive && { 'retry-after': RETRY_AFTER }),
  });
  response.end(text);
}

/** @returns the refusal of an address, which names the settings */
export function refuseAddress({ host, port }: Address, error: Error & { code?: string }): Error {
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new Error(
    error.code === 'EADDRINUSE'
      ? `The address ${address} is taken: set RELATA_PORT, or stop what listens there.`
      : `The address ${address} cannot be listened on (${error.message}): set RELATA_HOST or RELATA_PORT.`,
  );
}
