import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../kernel/errors.ts';
import type { FailureBody } from '../answers/answers.ts';
import { parsingHook, sendingHook } from '../guards/guards.ts';
import type { Server } from './endpoint.ts';
import { createRefusalLog } from './request-log.ts';

/**
 * A caller that reads nothing of its answer for this long counts as disconnected. Source of all these limits:
 * docs/interface §8.
 */
export const READER_MS = 30_000;
/** How long the rest of an unread body may take, so that its sender can still read the answer. */
const LINGER_MS = 10_000;
/** The most unanswered requests of a connection. All except the first wait for earlier answers. */
const MOST_UNDER_WAY = 100;
/** A connection without a valid key or session ends with the first answer after this time. */
export const STRANGER_MS = 60_000;
/**
 * While strangers have less than this share of the connections, idle connections of known callers make room for new
 * ones. Every caller begins as a stranger.
 */
const STRANGERS_SHARE = 1 / 8;
/** Descriptors reserved for files, the database and the fetches of pipelines. */
const OTHER_DESCRIPTORS = 256;

/** Options of Node's server. The service checks `Host` itself, so that a missing one gets a regular refusal. */
export const connectionOptions = {
  /** The time limit for the request line and headers. */
  headersTimeout: 20_000,
  connectionsCheckingInterval: 5_000,
  requireHostHeader: false,
};

interface Connection {
  readonly openedAt: number;
  /** The number of requests that are not answered yet. */
  underWay: number;
  /** Whether one of its requests had a valid key or session. */
  isKnown: boolean;
}

const connections = new WeakMap<Socket, Connection>();

/** @returns the number of requests of a connection that are not answered yet */
export const countUnderWay = (socket: Socket): number => connections.get(socket)?.underWay ?? 0;

/**
 * Limits how long a connection may be idle and how many requests it may send at a time, because opening one needs no
 * key.
 * @param strangerMs the lifetime of a connection without a valid key or session
 */
export function boundConnections(server: Server, strangerMs: number): void {
  const { server: listener } = server;
  const most = findMostConnections();
  if (most !== undefined) listener.maxConnections = most;
  const change = makeRoom(listener);
  const logRefusal = createRefusalLog('headers');
  const noteCaller = (request: FastifyRequest) => {
    const { raw, caller } = request as Pick<FastifyRequest, 'raw'> & Partial<FastifyRequest>;
    if (caller !== undefined && connections.get(raw.socket)?.isKnown === false)
      change(raw.socket, { isKnown: true });
  };
  server.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    const underWay = countUnderWay(raw.socket) + 1;
    change(raw.socket, { underWay });
    const fault = findFault(raw, underWay);
    if (fault !== undefined) {
      reply.header('connection', 'close');
      logRefusal(server.log, { requestId: request.id, code: fault.code });
      request.log.level = 'silent';
    }
    done(fault);
  });
  // Runs before the handler, because the handler may take hours, for example when it sends events.
  server.addHook('preParsing', parsingHook(noteCaller));
  server.addHook(
    'onSend',
    sendingHook((request, reply) => {
      noteCaller(request);
      const { isKnown = true, openedAt = 0 } = connections.get(request.raw.socket) ?? {};
      if (!isKnown && performance.now() - openedAt > strangerMs) reply.header('connection', 'close');
    }),
  );
  server.addHook('onResponse', (request, _reply, done) => {
    const { raw } = request;
    change(raw.socket, { underWay: Math.max(0, countUnderWay(raw.socket) - 1) });
    if (raw.complete === false) setTimeout(endIncomplete, LINGER_MS, raw).unref();
    done();
  });
  // Node itself would also end a silent connection whose answer is still being made.
  listener.on('timeout', (socket: Socket) => {
    if (socket.writableLength > 0 || countUnderWay(socket) === 0) socket.destroy();
  });
  // Node itself would refuse an unknown `Expect` without a body.
  listener.on('checkExpectation', (request, response) => listener.emit('request', request, response));
}

/**
 * Ends one connection for each new one when there is no room: strangers first, idle ones before busy ones, and the
 * longest idle one first. Node itself would refuse the new connection, whatever its key.
 * @returns a function that records changes of a connection
 */
function makeRoom(listener: Server['server']): (socket: Socket, changed: Partial<Connection>) => void {
  const open = new Set<Socket>();
  const [idleStrangers, busyStrangers, idleKnown] = [new Set<Socket>(), new Set<Socket>(), new Set<Socket>()];
  const groupOf = ({ isKnown, underWay }: Connection) => {
    if (isKnown) return underWay === 0 ? idleKnown : undefined;
    return underWay === 0 ? idleStrangers : busyStrangers;
  };
  const remove = (socket: Socket) => {
    for (const group of [open, idleStrangers, busyStrangers, idleKnown]) group.delete(socket);
  };
  const change = (socket: Socket, changed: Partial<Connection>) => {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    groupOf(connection)?.delete(socket);
    Object.assign(connection, changed);
    // Moved to the end of its group, because it was active last.
    if (open.has(socket)) groupOf(connection)?.add(socket);
  };
  listener.on('connection', (socket: Socket) => {
    const most = listener.maxConnections ?? Number.POSITIVE_INFINITY;
    const strangers = idleStrangers.size + busyStrangers.size;
    const groups =
      strangers < most * STRANGERS_SHARE
        ? [idleKnown, idleStrangers, busyStrangers]
        : [idleStrangers, busyStrangers, idleKnown];
    if (open.size + 1 >= most) {
      const [longest] = groups.find(({ size }) => size > 0) ?? [];
      if (longest !== undefined) remove(longest.destroy());
    }
    connections.set(socket, { openedAt: performance.now(), underWay: 0, isKnown: false });
    open.add(socket);
    change(socket, {});
    socket.once('close', () => remove(socket));
  });
  return change;
}

function endIncomplete(request: IncomingMessage): void {
  if (!request.complete) request.socket.destroy();
}

function findFault({ httpVersion, headers, rawHeaders }: IncomingMessage, count: number) {
  if (count > MOST_UNDER_WAY) {
    const details = [`one connection may have ${MOST_UNDER_WAY} requests under way: read answers first`];
    return new ServiceError('too_many_pipelined', { details, retryAfterSeconds: 1 });
  }
  const hosts = rawHeaders.filter((text, index) => index % 2 === 0 && isHost(text)).length;
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    return new ServiceError('bad_request', 'exactly one header Host is needed');
  }
  if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect)) {
    return new ServiceError('expectation_failed', 'Expect can be 100-continue or absent');
  }
  return undefined;
}

const isHost = (name: string) => name.length === 4 && name.toLowerCase() === 'host';

/** @returns undefined if the system does not report its limit of descriptors */
function findMostConnections(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const descriptors = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1]);
    return descriptors > 0 ? Math.max(descriptors - OTHER_DESCRIPTORS, OTHER_DESCRIPTORS) : undefined;
  } catch {
    // Only Linux has this file.
    return undefined;
  }
}

/**
 * Answers requests that Node's parser refused, which never reach a route, in the form of other refusals. Any sender can
 * cause them, so their connections end soon and their log lines are limited.
 */
export function createBrokenRequestHandler() {
  const logRefusal = createRefusalLog('parser');
  return function answerBrokenRequest(this: Server, error: Error & { code?: string }, socket: Socket): void {
    if (socket.destroyed) return;
    const requestId = randomUUID();
    logRefusal(this.log, { requestId, code: error.code });
    // The sender would take an answer here for the answer to an earlier request.
    if (!socket.writable || countUnderWay(socket) > 0) return void socket.destroy();
    const { code, reason, message } = BROKEN[error.code ?? ''] ?? BAD_REQUEST;
    const failure: FailureBody = { status: 'failure', code, reason, message, requestId };
    const body = JSON.stringify(failure);
    const head = `HTTP/1.1 ${code} ${message}\r\nContent-Type: application/json; charset=utf-8`;
    socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`);
    // The sender has a second to read the answer, because it may never close the connection.
    setTimeout(() => socket.destroy(), 1_000).unref();
  };
}

type Broken = Pick<FailureBody, 'code' | 'reason' | 'message'>;
const BAD_REQUEST: Broken = { code: 400, reason: 'bad_request', message: 'Bad Request' };
const BROKEN: Readonly<Record<string, Broken>> = {
  HPE_HEADER_OVERFLOW: { code: 431, reason: 'headers_too_large', message: 'Request Header Fields Too Large' },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 408, reason: 'request_timeout', message: 'Request Timeout' },
};
