import type { ServerResponse } from 'node:http';
import type {
  FastifyContextConfig as ContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  RouteShorthandOptions,
} from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import type { Access, Caller, ChosenProject, Role } from '../../kernel/caller.ts';
import type { JsonLimits } from '../../kernel/json-scan.ts';
import { type AnswerOnce, ErrorAnswer, type FailureBody, type RecordAnswer } from '../answers/answers.ts';
import { type IncomingPayload, type RawBody, refuseBody } from '../bodies/bodies.ts';
import type { LimitScans, RateState } from '../guards/guards.ts';
import { heldBytesOf, inParts } from './answer-encoding.ts';

export type Server = FastifyInstance;

/** A body in chunks as they arrive. It fails midway if it is too large or stalls. */
export type BodyStream = AsyncIterable<Uint8Array>;

/** The values that the app passes to the routes of all rooms. */
export interface RouteTools {
  readonly answerOnce: AnswerOnce;
  readonly limitScans: LimitScans;
  /** The address that browsers use, without a trailing slash. */
  readonly findBaseUrl: () => string;
  /** The limit for a body with products. */
  readonly uploadMaxMib: number;
  /** The limit for an uploaded file. */
  readonly sourceMaxMib: number;
}

/** Adds the routes of one folder to the server. */
export type Routes = (server: Server) => void;

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * `none`: everyone. `key`: any key. `project`: a key, and the project of the query. `management`: a key in the
     * header. `key`, `project` and `management` also accept a console session. `session`: only a console session.
     * `sign-in`: any page of the console. `own`: the route itself checks the key in the header.
     */
    guard?: 'none' | 'key' | 'project' | 'management' | 'session' | 'sign-in' | 'own';
    /** The access that a key needs; the default is read. */
    access?: Access;
    /** The role that the user of a session needs. The default is viewer for a read and editor for a change. */
    role?: Role;
    /**
     * `raw`: the handler gets a RawBody, which a thread parses. `stream`: the handler gets a BodyStream, which is not
     * parsed. `ignored`: the body is not read. Any other body is parsed as JSON.
     */
    body?: 'raw' | 'json' | 'stream' | 'ignored';
    /**
     * The largest body, unpacked, or as received if streamed. The default is half a MiB, or 16 KiB if the route takes
     * no body.
     */
    maxBodyMib?: number;
    /** Limits of a JSON body that differ from the defaults of json-body.ts. */
    holds?: Partial<JsonLimits>;
    /**
     * The time of the answer depends on its caller or on the size of the catalog, so the request never counts as slow.
     */
    isPatient?: boolean;
    /** Set for every route below `/management/projects/:id/`. The guard finds the project of the path. */
    isBelowProject?: boolean;
    /** The route itself finds a deleted project, because no guard does. */
    findsDeletedProject?: boolean;
    /** The body may name the project instead of the query. */
    takesProjectInBody?: boolean;
    /** The route accepts an `Idempotency-Key`. Without this mark, `answerOnce` refuses to serve the route. */
    isOnce?: boolean;
    /** Its answers have an ETag. */
    hasMark?: boolean;
    /** The path itself gives access, so no log shows it. */
    hasSecretPath?: boolean;
    /** The answer is one Buffer for all callers, and it is packed only once. */
    isFixed?: boolean;
    /** Other methods on this path get 404, not 405, so that the path is not revealed. */
    hidesOtherMethods?: boolean;
  }
  interface FastifyRequest {
    /** Set by the guard. Reading it on an open route is a bug. */
    caller: Caller;
    /** Checks the caller again and throws if access is lost. Undefined for a route that is open to everyone. */
    checkCaller: (() => void | Promise<void>) | undefined;
    /** Set by the guard, from the query or the path. */
    project: ChosenProject;
    rawBody: RawBody | undefined;
    /** The body of the refusal, if the request was refused. */
    failure: FailureBody | undefined;
    /** Set before the service reads a body that it stores. The body is written while it is received. */
    payload: IncomingPayload | undefined;
    /** The digest of a streamed body, set after the body was read. It identifies a repetition. */
    bodyDigest: string | undefined;
    /**
     * The media type that the caller sent. The service ignores it and reads the body as the type that the route
     * accepts.
     */
    sentType: string | undefined;
    rawReply: ServerResponse | undefined;
    rate: RateState | undefined;
    /** Whether the answer is that of an earlier request with the same `Idempotency-Key`. */
    isRepeated: boolean;
  }
}

/** A value that may be sent for a schema. All of it may be readonly, because the service no longer changes it. */
export type Sent<Value> = unknown extends Value
  ? Value
  : { readonly [Field in keyof Value]: Sent<Value[Field]> };

/**
 * The type that a schema describes. It is not inferred from the result of a handler, because the inference takes
 * TypeScript 10 seconds.
 */
type Value<Schema extends TSchema> = NoInfer<Static<Schema>>;

/** The method and path in the form of docs/interface: `GET /tasks/:id`. */
type Call = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} ${string}`;

/** A route, declared once: what it accepts, who may call it, and what it returns. */
export interface Endpoint<Params = TSchema, Query = TSchema, Body = TSchema> {
  /** Who may call, and how the body is read. */
  readonly config: ContextConfig;
  readonly tags?: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly params?: Params;
  readonly query?: Query;
  readonly headers?: TSchema;
  readonly body?: Body;
  /** Media types of a body that is not JSON. */
  readonly consumes?: readonly string[];
  /** Default: any 4xx in the form of docs/interface §7.1. */
  readonly failures?: Readonly<Record<string, object>>;
  readonly hooks?: Pick<RouteShorthandOptions, 'onRequest' | 'preParsing' | 'preValidation' | 'onError'>;
}

/** The type of a value that can be sent as an answer of this schema. */
type Described<Answer extends TSchema> = NoInfer<Sent<Static<Answer>>>;

/** An endpoint with its handler, which receives an argument besides the request. */
interface Handled<Answered, Beside, Params extends TSchema, Query extends TSchema, Body extends TSchema>
  extends Endpoint<Params, Query, Body> {
  handle(
    request: FastifyRequest & { params: Value<Params>; query: Value<Query>; body: Value<Body> },
    beside: Beside,
  ): Promise<Answered>;
}

/** The schema of an answer by its status. */
interface Answering<Answer extends TSchema> {
  readonly answer: { readonly 200: Answer } | { readonly 201: Answer };
}

/** Adds a route whose answers the compiler checks against their schemas. */
export function serve<
  Answer extends TSchema,
  Params extends TSchema,
  Query extends TSchema,
  Body extends TSchema,
>(
  server: Server,
  call: Call,
  { handle, ...endpoint }: Answering<Answer> & Handled<Described<Answer>, FastifyReply, Params, Query, Body>,
): void {
  const status = 201 in endpoint.answer ? 201 : 200;
  async function answer(request: FastifyRequest, reply: FastifyReply) {
    const answered = await handle(request as Parameters<typeof handle>[0], reply);
    reply.code(status);
    // Location is the path of what was created: below this path, its id, or its name if it has no id. The answer is
    // undefined if the caller has disconnected.
    const { id, name } = (answered ?? {}) as { readonly id?: unknown; readonly name?: unknown };
    if (status === 201 && answered !== undefined)
      reply.header('location', `${request.url.split('?', 1)[0]}/${encodeURIComponent(String(id ?? name))}`);
    return answered;
  }
  addRoute(server, call, { ...endpoint, handle: answer });
}

/**
 * Adds a write that is done once for each `Idempotency-Key`. `record` stores the answer for a repetition in the
 * transaction of the write. A write that also reacts to repetitions calls `answerOnce` in its handler. Source:
 * docs/interface §7.5.
 */
export function serveOnce<
  Answer extends TSchema,
  Params extends TSchema,
  Query extends TSchema,
  Body extends TSchema,
>(
  server: Server,
  call: Call,
  {
    answerOnce,
    checkRepeated,
    handle,
    ...endpoint
  }: Answering<Answer> & {
    readonly answerOnce: AnswerOnce;
    /** Throws a refusal if the first answer is no longer true when it would be repeated. */
    checkRepeated?(
      request: FastifyRequest & { query: Value<Query> },
      answer: Described<Answer>,
    ): Promise<void>;
  } & Handled<Described<Answer>, RecordAnswer<Described<Answer>>, Params, Query, Body>,
): void {
  serve<Answer, Params, Query, Body>(server, call, {
    ...endpoint,
    config: { ...endpoint.config, isOnce: true },
    handle: (request) =>
      answerOnce(
        request,
        (record) => handle(request, record),
        checkRepeated && ((answer) => checkRepeated(request, answer as Described<Answer>)),
      ),
  });
}

declare const raw: unique symbol;
/** An answer whose type is not checked. */
export type RawAnswer = FastifyReply & { readonly [raw]: true };

/** Sends bytes, also in several pieces or as a stream. */
export function sendRaw(
  reply: FastifyReply,
  contentType: string,
  payload: NodeJS.ReadableStream | Uint8Array | readonly Uint8Array[],
): RawAnswer {
  const bytes = payload instanceof Uint8Array ? [payload] : payload;
  const content = Array.isArray(bytes) ? inParts(bytes) : bytes;
  // Fastify itself sets this header only for plain bytes.
  const length = heldBytesOf(content);
  if (length !== undefined) reply.header('content-length', length);
  return reply.type(contentType).send(content) as RawAnswer;
}

export const sendJson = (reply: FastifyReply, payload: Parameters<typeof sendRaw>[2]): RawAnswer =>
  sendRaw(reply, 'application/json; charset=utf-8', payload);

/** Adds a route that may return bytes or a stream, which types do not describe. `why` states the reason. */
export function serveRaw<
  Answer extends TSchema,
  Params extends TSchema,
  Query extends TSchema,
  Body extends TSchema,
>(
  server: Server,
  call: Call,
  {
    why: _,
    produces,
    ...endpoint
  }: Handled<Described<Answer> | RawAnswer, FastifyReply, Params, Query, Body> & {
    readonly answer?: { readonly 200: Answer };
    readonly why: string;
    /** The media type of an answer without a schema. */
    readonly produces?: string;
  },
): void {
  const content = produces && { [produces]: { schema: { type: 'string' } } };
  const answer = content && { answer: { 200: { description: 'OK', content } } };
  addRoute(server, call, { ...(endpoint as Added), ...answer });
}

/** The limit of a call without a body: enough for an empty body in any notation. Source: docs/interface §8. */
const NO_BODY_MIB = 1 / 64;

interface Added extends Endpoint {
  readonly answer?: object;
  handle(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}

/** The compiler has checked the types of parameters and answers. Fastify checks the values that arrive. */
function addRoute(
  server: Server,
  call: Call,
  { config, hooks, query, answer, failures = { '4xx': ErrorAnswer }, handle, ...about }: Added,
): void {
  const [method, url] = call.split(' ') as [HTTPMethods, string];
  const schema = { ...about, ...(query && { querystring: query }), response: { ...answer, ...failures } };
  const own = [hooks?.preValidation ?? []].flat();
  // Source: docs/interface §14.1 rule 8.
  const refusesBody =
    config.guard === 'management' &&
    method !== 'GET' &&
    about.body === undefined &&
    config.body === undefined;
  const bounded = refusesBody ? { ...config, maxBodyMib: NO_BODY_MIB } : config;
  const preValidation = refusesBody ? [refuseBody, ...own] : own;
  server.route({ ...hooks, preValidation, method, url, config: bounded, schema, handler: handle });
}

/** @returns a function that picks the fields of the schema, in its order */
export const fieldsOf = <Schema extends TObject>({ properties }: Schema) => {
  const names = Object.keys(properties);
  return (value: NoInfer<Sent<Static<Schema>>>) =>
    Object.fromEntries(names.map((name) => [name, value[name as keyof typeof value]])) as Sent<
      Static<Schema>
    >;
};
