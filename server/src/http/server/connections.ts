import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { ServiceError } from '../../kernel/errors.ts';
import type { Server } from '../http.ts';

/** A reader who takes nothing for so long is gone. Source of all of these: docs/interface.md §8. */
export const READER_MS = 30_000;
/** Request line and headers have to come within this. */
const HEADERS_MS = 20_000;
/** The rest of a body that nobody reads may come so long: its sender gets to read the answer. */
const LINGER_MS = 10_000;
/** Requests of one connection, of which all but the first wait for the answers before theirs. */
const MOST_UNDER_WAY = 100;
const CONNECTIONS_CHECK_MS = 5_000;
/** Kept for files, the database and what pipelines fetch. */
const OTHER_DESCRIPTORS = 256;

/** Of Node's server. `Host` is looked at here, where its absence is told as everything else is. */
export const connectionOptions = {
  headersTimeout: HEADERS_MS,
  connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
  requireHostHeader: false,
};

const underWay = new WeakMap<Socket, number>();

/** @returns how many requests of a connection are not answered yet */
export const countUnderWay = (socket: Socket): number => underWay.get(socket) ?? 0;

/** Bounds how long a connection may do nothing and how much it may ask for at once; no key is needed to have one. */
export function boundConnections(server: Server): void {
  const { server: listener } = server;
  const most = findMostConnections();
  if (most !== undefined) listener.maxConnections = most;
  server.addHook('onRequest', (request, _reply, done) => {
    const { raw } = request;
    const count = countUnderWay(raw.socket) + 1;
    underWay.set(raw.socket, count);
    done(findFault(raw, count));
  });
  server.addHook('onResponse', (request, _reply, done) => {
    const { raw } = request;
    underWay.set(raw.socket, Math.max(0, countUnderWay(raw.socket) - 1));
    if (raw.complete === false) setTimeout(endIncomplete, LINGER_MS, raw).unref();
    done();
  });
  // Node itself would also end a connection while its answer is being made, for which it can be silent.
  listener.on('timeout', (socket: Socket) => {
    if (socket.writableLength > 0 || countUnderWay(socket) === 0) socket.destroy();
  });
  // Node itself would answer without a body.
  listener.on('checkExpectation', (request, response) => listener.emit('request', request, response));
}

function endIncomplete(request: IncomingMessage): void {
  if (!request.complete) request.socket.destroy();
}

function findFault({ httpVersion, headers, rawHeaders }: IncomingMessage, count: number) {
  if (count > MOST_UNDER_WAY) {
    const details = [`one connection may have ${MOST_UNDER_WAY} requests under way: read answers first`];
    return new ServiceError('too_many_pipelined', { details, retryAfterSeconds: 1 });
  }
  const hosts = rawHeaders.filter((text, at) => at % 2 === 0 && isHost(text)).length;
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    return new ServiceError('bad_request', { details: ['exactly one header Host is needed'] });
  }
  if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect)) {
    return new ServiceError('expectation_failed', { details: ['Expect can be 100-continue or absent'] });
  }
  return undefined;
}

const isHost = (name: string) => name.length === 4 && name.toLowerCase() === 'host';

/** @returns undefined where the system does not tell how many descriptors there are */
function findMostConnections(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const descriptors = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1]);
    return descriptors > 0 ? Math.max(descriptors - OTHER_DESCRIPTORS, OTHER_DESCRIPTORS) : undefined;
  } catch {
    // Not Linux.
    return undefined;
  }
}
