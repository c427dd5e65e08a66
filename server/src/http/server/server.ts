/**
 * The server without routes. It reads bodies, checks credentials with the given guards, finds the project, validates
 * parameters and turns refusals into answers, in the order of docs/interface §7.2. It does not depend on what a route
 * does.
 */

import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import cors from '@fastify/cors';
import type { FastifyError, FastifyInstance, FastifyRequest, onSendHookHandler, RouteOptions } from 'fastify';
import Fastify from 'fastify';
import { nameCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { openRequestSpan, type RequestSpan } from '../../kernel/trace.ts';
import { describeSchemaErrors, hasAlready, replyWithError } from '../answers/answers.ts';
import {
  brokeOff,
  createBodyChecks,
  createParameterChecks,
  type HeldMemory,
  JSON_LIMITS,
  type JsonTerms,
  jsonOperations,
  MemoryBudget,
  MIB,
  type ReadElsewhere,
  readBody,
  readJsonBody,
  streamBody,
} from '../bodies/bodies.ts';
import {
  createGuardHook,
  createLateCheck,
  createPathProjectHook,
  createSessionCookie,
  findCallerRefusal,
  type Guards,
  markProjectRoute,
  parsingHook,
  requestHook,
  sendingHook,
  watchStream,
} from '../guards/guards.ts';
import { createAnswerMemory, packForCaller } from './answer-encoding.ts';
import { type Address, refuseAddress } from './door.ts';
import type { Server } from './endpoint.ts';
import {
  boundConnections,
  connectionOptions,
  createBrokenRequestHandler,
  READER_MS,
  STRANGER_MS,
} from './http-connections.ts';
import { takeTurnsWithoutKey } from './keyless-turns.ts';
import { KnownPaths } from './known-paths.ts';
import { readLazily } from './query.ts';
import { RequestLog } from './request-log.ts';
import { createSerializers } from './shown-request.ts';

export { isConsoleBuilt, serveConsole, serveDocs } from './built-files.ts';
export { type Door, openDoor } from './door.ts';
export {
  type BodyStream,
  type Endpoint,
  fieldsOf,
  type RawAnswer,
  type Routes,
  type RouteTools,
  type Sent,
  type Server,
  sendJson,
  sendRaw,
  serve,
  serveOnce,
  serveRaw,
} from './endpoint.ts';
export {
  createMetrics,
  type MeasuredRequest,
  type Metrics,
  measureRequests,
  serveMetrics,
  type WatchedGauge,
} from './metrics.ts';
export type { SentRequest } from './request-log.ts';
export { answerAs, type ChangeRequest, inProject, inReach, serveKind } from './serve-kind.ts';

export interface ServerSettings {
  readonly logLevel: string;
  /** Where the log goes; default standard output. */
  readonly logTo?: { write(line: string): void };
  readonly trustedProxies: readonly string[];
  readonly corsOrigins: readonly string[];
  /** The address that browsers use. */
  readonly publicUrl?: string | undefined;
  readonly bodyBudgetMib: number;
  /** If undefined, requests are not traced. */
  readonly traces?: object | undefined;
  /** How long requests in progress may take when the service stops; the default is 30 s. */
  readonly closeMs?: number;
  /** How long a caller may read nothing of its answer; the default is 30 s. */
  readonly readerMs?: number;
  /** The lifetime of a connection without a valid key or session; the default is 60 s. */
  readonly strangerMs?: number;
}

/** Half of the time that an operator gives the service to stop. The other half is for running tasks. */
const CLOSE_MS = 30_000;
/** The service accepts 128 KiB of request line and headers. Node counts a little more than their text. Source: §8. */
const MAX_HEADER_BYTES = 136 * 1024;

/**
 * A server with all checks but without routes.
 * @param readElsewhere the parsing threads; by default this thread, for a server that only describes its routes
 */
export function createServer(
  settings: ServerSettings,
  guards: Guards,
  readElsewhere: ReadElsewhere = async (input) => jsonOperations().readJson(input).output,
): Server {
  const paths = new KnownPaths();
  const shown = createSerializers();
  const server = openServer(settings, { paths, shown });
  const budgetBytes = settings.bodyBudgetMib * MIB;
  boundConnections(server, settings.strangerMs ?? STRANGER_MS);
  server.addHook('onRequest', takeTurnsWithoutKey());
  if (settings.traces !== undefined) traceRequests(server);
  server.addHook('onRoute', ({ url }) => shown.addRoute(url));
  server.addHook('onRoute', markProjectRoute);
  server.addHook('preParsing', createPathProjectHook(guards));
  readParameters(server);
  readBodies(server, new MemoryBudget(budgetBytes), readElsewhere);
  answerUnknownPaths(server, paths);
  if (settings.corsOrigins.length > 0) allowOrigins(server, settings.corsOrigins);
  const cookie = createSessionCookie(settings.publicUrl);
  server.addHook('onRequest', createGuardHook(guards, cookie));
  server.addHook('preHandler', createLateCheck(guards));
  sendAnswers(server, budgetBytes);
  // Registered after the others, so that an answer in progress when a stop begins also ends its connection.
  endConnectionsOnClose(server, settings.closeMs ?? CLOSE_MS);
  return server;
}

function openServer(
  settings: ServerSettings,
  { paths, shown }: { readonly paths: KnownPaths; readonly shown: ReturnType<typeof createSerializers> },
): Server {
  const server: Server = Fastify({
    logger: {
      level: settings.logLevel,
      ...(settings.logTo && { stream: settings.logTo }),
      serializers: shown.serializers,
    },
    logController: new RequestLog(settings.logLevel),
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    trustProxy: settings.trustedProxies.length > 0 ? [...settings.trustedProxies] : false,
    http: { ...connectionOptions, maxHeaderSize: MAX_HEADER_BYTES },
    connectionTimeout: settings.readerMs ?? READER_MS,
    rewriteUrl: (request) => paths.shorten(request),
    routerOptions: { maxParamLength: 4096, ignoreTrailingSlash: false, querystringParser: readLazily },
    requestTimeout: 0,
    forceCloseConnections: 'idle',
    clientErrorHandler: createBrokenRequestHandler(),
    frameworkErrors: (error, request, reply) => void replyWithError(error, request, reply),
  });
  server.setErrorHandler((error: FastifyError, request, reply) => replyWithError(error, request, reply));
  // Fastify recognises bytes only outside shared memory and serialises others as an object. It sends the result of this
  // function, even bytes, although its types declare a string.
  server.setReplySerializer((payload) =>
    payload instanceof Uint8Array ? (payload as unknown as string) : JSON.stringify(payload),
  );
  // Otherwise Fastify compiles a serializer for each answer of each route, which takes a fifth of a second, and uses
  // none of them.
  server.setSerializerCompiler(() => JSON.stringify);
  return server;
}

/** Adds the headers of all answers, counts unread answers, and packs. */
function sendAnswers(server: Server, budgetBytes: number): void {
  const holdAnswer = createAnswerMemory(budgetBytes);
  server.addHook(
    'onSend',
    sendingHook((request, reply, payload) => {
      reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
      if (request.isRepeated) reply.header('idempotency-replayed', 'true');
      if (hasAlready(request, reply)) {
        reply.code(304).removeHeader('content-type').removeHeader('content-length');
        return null;
      }
      watchStream(request, reply, payload);
      holdAnswer(request, reply, payload);
      return packForCaller(request, reply, payload);
    }),
  );
  server.addHook('onSend', sendTogether());
}

/**
 * Ends connections when the service stops. Otherwise a connection with a request in progress would be kept alive after
 * its answer and delay the stop. So would the connection of a sender that takes hours for a body. An unanswered request
 * was not accepted.
 */
function endConnectionsOnClose(server: Server, closeMs: number): void {
  let isClosing = false;
  let timer: NodeJS.Timeout | undefined;
  server.addHook('preClose', async () => {
    isClosing = true;
    timer = setTimeout(() => server.server.closeAllConnections(), closeMs);
  });
  server.addHook('onClose', async () => clearTimeout(timer));
  server.addHook(
    'onSend',
    sendingHook((_, reply) => {
      if (isClosing) reply.header('connection', 'close');
    }),
  );
}

/** The longest that an answer waits for later ones of its turn. A short answer takes a tenth of this time. */
const TOGETHER_MS = 0.5;

/**
 * Sends the answers of one turn of the event loop together. A sleeping reader must be woken for each answer that
 * arrives alone, which takes 30 µs in a virtual machine. With 8 connections, a cached answer took 134 µs of processor
 * time when sent alone and takes 79 µs together.
 */
function sendTogether(): onSendHookHandler {
  let waiting: ((error?: Error) => void)[] = [];
  let since = 0;
  function sendAll(): void {
    const sends = waiting;
    waiting = [];
    for (const send of sends) {
      try {
        send();
      } catch (error) {
        // For example, a header cannot be written. The failure is answered like an error of the handler.
        send(error as Error);
      }
    }
  }
  return (...[, , payload, send]) => {
    // A stream is sent immediately, because no code listens for its failure before, and an unhandled failure would end
    // the process.
    if (payload instanceof Readable) return send();
    const now = performance.now();
    if (waiting.push(send) === 1) {
      since = now;
      setImmediate(sendAll);
    } else if (now - since > TOGETHER_MS) sendAll();
  };
}

/**
 * Checks bodies and parameters. Values of bodies are never converted. Parameters of a URL are text, so they are
 * converted.
 */
function readParameters(server: Server): void {
  const compileParameters = createParameterChecks();
  const compileBody = createBodyChecks();
  server.setValidatorCompiler(({ schema, httpPart }) =>
    httpPart === 'body' ? compileBody(schema as object) : compileParameters(schema as object),
  );
  // Parameters are checked before the body is read. Source: docs/interface §7.2.
  server.addHook(
    'preParsing',
    parsingHook((request) => {
      const query = request.query as { projectId?: unknown };
      // Source: docs/interface §4.10 rule 5.
      if (query.projectId === '') delete query.projectId;
      const check = request.getValidationFunction('querystring');
      if (check === undefined || check(request.query)) return;
      throw new ServiceError('query_invalid', { details: describeSchemaErrors(check.errors ?? []) });
    }),
  );
  server.addHook('onRoute', (route: RouteOptions) => {
    // The parsing thread checks a raw body, and no code checks a streamed one. Their schemas are only documentation.
    if (route.config?.body !== 'raw' && route.config?.body !== 'stream') return;
    route.validatorCompiler = ({ schema, httpPart }) =>
      httpPart === 'body' ? () => true : compileParameters(schema as object);
  });
}

/** Enough for 100 names of 255 characters in any JSON notation. Source: docs/interface §8. */
const DEFAULT_MIB = 1 / 2;

/** One reader for all bodies, with limits for their size, their time and the memory that they share. */
function readBodies(server: Server, budget: MemoryBudget, readElsewhere: ReadElsewhere): void {
  const names = [
    'checkCaller',
    'rawBody',
    'payload',
    'bodyDigest',
    'sentType',
    'rawReply',
    'failure',
  ] as const;
  for (const name of names) server.decorateRequest(name, undefined);
  server.decorateRequest('isRepeated', false);
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', async (request: FastifyRequest, stream: unknown) => {
    const { payload, routeOptions } = request;
    const { body = 'json', maxBodyMib = DEFAULT_MIB } = routeOptions.config;
    if (body === 'ignored' || routeOptions.url === undefined) return undefined;
    const message = stream as typeof request.raw;
    const memory = holdMemory(budget, request);
    const terms = {
      maxMib: maxBodyMib,
      memory,
      payload,
      findRefusal: () => findCallerRefusal(request),
    };
    if (payload !== undefined) afterAnswer(request, () => void payload.abandon());
    if (body === 'stream') return streamBody(message, terms);
    const raw = await readBody(message, terms);
    request.rawBody = raw;
    return body === 'raw' ? raw : readJsonBody(raw, { ...terms, ...jsonTermsOf(request), readElsewhere });
  });
  // Bodies are JSON whatever their declared type is, but Fastify refuses unknown media types.
  server.addHook(
    'onRequest',
    requestHook((request, reply) => {
      const { headers } = request.raw;
      request.rawReply = reply.raw;
      request.sentType = headers['content-type'];
      if (headers['content-type'] !== undefined) headers['content-type'] = 'application/json';
    }),
  );
}

/**
 * Bodies of callers without a key do not count. They would take memory from callers with a key, and they must be small.
 */
function holdMemory(budget: MemoryBudget, request: FastifyRequest): HeldMemory | undefined {
  const { caller } = request as Partial<FastifyRequest>;
  if (caller === undefined) return undefined;
  const memory = budget.open({ caller: nameCaller(caller), accountId: caller.accountId });
  const release = () => memory.release();
  afterAnswer(request, release);
  // A body is no longer needed after it was read to its end. A value that was parsed from JSON is needed until the
  // answer.
  if ((request.routeOptions.config.body ?? 'json') !== 'json') request.raw.once('close', release);
  return memory;
}

function jsonTermsOf(request: FastifyRequest): Omit<JsonTerms, 'maxMib' | 'memory' | 'readElsewhere'> {
  const { config, schema } = request.routeOptions;
  const { caller, project } = request as Partial<FastifyRequest>;
  return {
    limits: { ...JSON_LIMITS, ...config.holds },
    schema: schema?.body as object | undefined,
    // Projects take turns. While no project is chosen, accounts do.
    owner: project?.id ?? -(caller?.accountId ?? 0),
    openSignal() {
      const left = new AbortController();
      afterAnswer(request, () => left.abort(brokeOff()));
      return left.signal;
    },
  };
}

/**
 * Releases after the answer. This includes requests that were refused early and those whose sender disconnected, for
 * which Node may not report the close.
 */
function afterAnswer({ rawReply }: FastifyRequest, release: () => void): void {
  if (rawReply === undefined || rawReply.closed) release();
  else rawReply.once('close', release);
}

/** Paths at which shop connectors of other services search. This service does not have these paths. */
const SEARCHES = /^\/(suggest|suggestions)\/?$|^\/search\/suggest\/?$/;

/** Unknown path: 404. Known path, other method: 405 with Allow. Source: docs/interface §7.2. */
function answerUnknownPaths(server: Server, paths: KnownPaths): void {
  server.addHook('onRoute', (route) => paths.add(route));
  server.setNotFoundHandler((request) => {
    const path = request.url.split('?', 1)[0] ?? '';
    const entry = paths.find(path);
    if (SEARCHES.test(path)) throw new ServiceError('search_absent');
    if (entry === undefined || entry.isHidden) throw new ServiceError('not_found');
    throw new ServiceError('method_not_allowed', { allow: [...entry.methods].sort() });
  });
}

/** Makes every request a span, except health checks. Call this before adding the hooks that the span is to include. */
function traceRequests(server: Server): void {
  const spans = new WeakMap<FastifyRequest, RequestSpan>();
  server.addHook('onRequest', (request, _, done) => {
    const { url = 'unknown' } = request.routeOptions;
    if (url.startsWith('/health/')) return done();
    const span = openRequestSpan(request.method, url, request.headers);
    spans.set(request, span);
    span.serve(done);
  });
  server.addHook('onResponse', async (request, reply) => {
    const { project } = request as Partial<typeof request>;
    spans.get(request)?.end(reply.statusCode, { ...(project && { 'relata.project.id': project.id }) });
  });
}

/** The paths that browsers may call from other origins. Source: docs/interface §5.4. */
const CORS_PATHS = ['/projects', '/product-service/', '/search/relations/', '/project/check-credentials'];

/** Headers that scripts of other origins may read. */
const EXPOSED_HEADERS = ['Retry-After', 'RateLimit', 'RateLimit-Policy', 'ETag', 'X-Request-Id'].concat(
  ...['Deprecation', 'Idempotency-Replayed', 'Location', 'WWW-Authenticate'],
);

/** Lets scripts of other origins read the answers that need no key. All other answers remain unchanged. */
function allowOrigins(server: Server, origins: readonly string[]): void {
  const allowed = {
    origin: [...origins],
    credentials: false,
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED_HEADERS,
  };
  // The cors package adds a route for OPTIONS on any path. For a request that is not a preflight, the path does not
  // support the method.
  server.addHook('onRoute', (route: RouteOptions) => {
    if (route.url === '*' && route.method === 'OPTIONS') route.config = { ...route.config, guard: 'none' };
  });
  void server.register(cors, {
    delegator: (request: FastifyRequest, done: (error: Error | null, options: object) => void) =>
      done(null, isOpen(request) ? allowed : { origin: false }),
  });
}

/** A preflight names the requested method. Source: Fetch, "CORS-preflight request". */
function isOpen({ url, method, headers }: FastifyRequest): boolean {
  const isRequested = headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
  if (method === 'OPTIONS' && !isRequested) return false;
  const path = url.split('?', 1)[0] ?? '';
  return CORS_PATHS.some((open) => (open.endsWith('/') ? path.startsWith(open) : path === open));
}

/**
 * @returns the address
 * @throws Error that names the settings, when the server cannot listen there
 */
export async function listenOn(server: Pick<FastifyInstance, 'listen'>, { host, port }: Address) {
  try {
    return await server.listen({ host, port });
  } catch (error) {
    throw refuseAddress({ host, port }, error as Error);
  }
}
