import type { ServerResponse } from 'node:http';
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
  RouteShorthandOptions,
} from 'fastify';
import { type Static, type TObject, type TSchema, Type } from 'typebox';
import type { Access, Caller, ChosenProject, Role } from '../../kernel/caller.ts';
import type { JsonLimits } from '../../kernel/json-scan.ts';
import type { Chosen, ControlTransaction } from '../../storage/storage.ts';
import {
  type AnswerOnce,
  DoneAnswer,
  done,
  ErrorAnswer,
  type FailureBody,
  Id,
  IfMatch,
  ListQuery,
  pageOf,
  type RecordAnswer,
  readIfMatch,
  sendMark,
} from '../answers/answers.ts';
import { type IncomingPayload, type RawBody, refuseBody, takeNoBody } from '../bodies/bodies.ts';
import { type LimitScans, type RateState, whileCallerWaits } from '../guards/guards.ts';
import { heldBytesOf, inParts } from './answer-encoding.ts';

export type Server = FastifyInstance;

/** A body in chunks as they came; fails in the middle when it is too large or stalls. */
export type BodyStream = AsyncIterable<Uint8Array>;

/** What the app lends to the routes of all rooms. */
export interface RouteTools {
  readonly answerOnce: AnswerOnce;
  readonly limitScans: LimitScans;
  /** Where browsers find the service, without a slash at its end. */
  readonly findBaseUrl: () => string;
  /** Of a body with products. */
  readonly uploadMaxMib: number;
  /** Of a file that is sent in. */
  readonly sourceMaxMib: number;
}

/** Adds the routes of one folder to the server. */
export type Routes = (server: Server) => void;

declare module 'fastify' {
  interface FastifyInstance {
    /** Compiles the checks of large bodies, before anything is served. Once all routes are there. */
    prepareChecks(): void;
  }
  interface FastifyContextConfig {
    /**
     * `none`: open to all. `key`: any key. `project`: the key and the query's project. `management`: the key in the header. These
     * take a console session in place of a key. `session`: the console session alone. `sign-in`: open to all pages of ours.
     * `own`: the route itself asks for the key, in the header.
     */
    guard?: 'none' | 'key' | 'project' | 'management' | 'session' | 'sign-in' | 'own';
    /** What the key must at least be allowed; default read. */
    access?: Access;
    /** What the user of a session must at least be; default viewer where nothing is changed, else editor. */
    role?: Role;
    /**
     * `raw`: the handler gets a RawBody and a thread parses it. `stream`: it gets a BodyStream, which is not parsed.
     * `ignored`: what is sent is not read. Otherwise the body is parsed as JSON.
     */
    body?: 'raw' | 'json' | 'stream' | 'ignored';
    /** Largest body, unpacked; as it comes where it is streamed; default half a MiB, 16 KiB where none is taken. */
    maxBodyMib?: number;
    /** What a body that is parsed as JSON may hold, where it differs from the default of json-body.ts. */
    holds?: Partial<JsonLimits>;
    /** The answer takes as long as its caller wants or the catalog is large; it is never called slow. */
    isPatient?: boolean;
    /** Set for every route below `/management/projects/:id/`: the guard finds the project of the path. */
    isBelowProject?: boolean;
    /** The route looks for a deleted project itself, which no guard finds. */
    findsDeletedProject?: boolean;
    /** The body may name the project in place of the query. */
    takesProjectInBody?: boolean;
    /** Who has the path is let in: no log shows it. */
    hasSecretPath?: boolean;
    /** The answer is one Buffer for every caller, which is packed once. */
    isFixed?: boolean;
    /** Another method on this path is 404, not 405, so that the path does not show. */
    hidesOtherMethods?: boolean;
  }
  interface FastifyRequest {
    /** Set by the guard; reading it on an open route is a bug. */
    caller: Caller;
    /** Finds the caller once more; throws when that is not allowed any longer. Undefined where no caller has to be known. */
    checkCaller: (() => void | Promise<void>) | undefined;
    /** Set by the guard, of the query or the path. */
    project: ChosenProject;
    rawBody: RawBody | undefined;
    /** Why it is refused. */
    failure: FailureBody | undefined;
    /** Set before a body is read that is to be stored: it is written while it is received. */
    payload: IncomingPayload | undefined;
    /** Of a streamed body, once it was read: by it a repetition is recognised. */
    bodyDigest: string | undefined;
    /** The media type as it was sent; every body is read as what the route takes. */
    sentType: string | undefined;
    /** What the request is answered with. */
    rawReply: ServerResponse | undefined;
    rate: RateState | undefined;
    /** Answered with what a former request with its `Idempotency-Key` was answered. */
    isRepeated: boolean;
  }
}

/** What may be sent for a schema: it does not change any more, so that all of it may be readonly. */
export type Sent<Value> = unknown extends Value
  ? Value
  : { readonly [Field in keyof Value]: Sent<Value[Field]> };

/** What a schema describes. Nothing is inferred from it: from what a handler answers TypeScript would try to, for 10 seconds. */
type Value<Schema extends TSchema> = NoInfer<Static<Schema>>;

/** Method and path, as docs/interface.md names an endpoint: `GET /tasks/:id`. */
type Call = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} ${string}`;

/** A route, declared once: what it takes, who may call it, what it answers. */
export interface Endpoint<Params = TSchema, Query = TSchema, Body = TSchema> {
  /** Who may call, and how the body is read. */
  readonly config: FastifyContextConfig;
  readonly tags?: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly params?: Params;
  readonly query?: Query;
  readonly headers?: TSchema;
  readonly body?: Body;
  /** Media types of a body that is not JSON. */
  readonly consumes?: readonly string[];
  /** Default: any 4xx in the shape of docs/interface.md §7.1. */
  readonly failures?: Readonly<Record<string, object>>;
  /** What this route alone does before and after its handler. */
  readonly hooks?: Pick<RouteShorthandOptions, 'onRequest' | 'preParsing' | 'preValidation' | 'onError'>;
}

/** What an answer that the schema describes is written from. */
type Described<Answer extends TSchema> = NoInfer<Sent<Static<Answer>>>;

/** With its handler, which gets something beside the request. */
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

/** Adds a route that is answered as its schema says. */
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
    // What is created is found below the path that created it, what has no id by its name; a caller who left is answered nothing.
    const { id, name } = (answered ?? {}) as { readonly id?: unknown; readonly name?: unknown };
    if (status === 201 && answered !== undefined)
      reply.header('location', `${request.url.split('?', 1)[0]}/${encodeURIComponent(String(id ?? name))}`);
    return answered;
  }
  addRoute(server, call, { ...endpoint, handle: answer });
}

/**
 * Adds a write that is done once for each `Idempotency-Key`. `record` keeps the answer for a repetition, in the transaction of the
 * write. One that does something for every repetition calls `answerOnce` in its handler. Source: docs/interface.md §7.5.
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
    handle,
    ...endpoint
  }: Answering<Answer> & { readonly answerOnce: AnswerOnce } & Handled<
      Described<Answer>,
      RecordAnswer<Described<Answer>>,
      Params,
      Query,
      Body
    >,
): void {
  serve<Answer, Params, Query, Body>(server, call, {
    ...endpoint,
    handle: (request) => answerOnce(request, (record) => handle(request, record)),
  });
}

declare const raw: unique symbol;
/** Sent past the types. */
export interface RawAnswer {
  readonly [raw]: true;
}

/** Sends bytes, also such that follow one another, or a stream of them. */
export function sendRaw(
  reply: FastifyReply,
  contentType: string,
  payload: NodeJS.ReadableStream | Uint8Array | readonly Uint8Array[],
): RawAnswer {
  const bytes = payload instanceof Uint8Array ? [payload] : payload;
  const sent = Array.isArray(bytes) ? inParts(bytes) : bytes;
  // Of bytes Fastify says it.
  const length = heldBytesOf(sent);
  if (length !== undefined) reply.header('content-length', length);
  return reply.type(contentType).send(sent) as unknown as RawAnswer;
}

export const sendJson = (reply: FastifyReply, payload: Parameters<typeof sendRaw>[2]): RawAnswer =>
  sendRaw(reply, 'application/json; charset=utf-8', payload);

/** Adds a route whose answer may be bytes or a stream, which no type says anything about; `why` says why it is. */
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
    /** Media type of an answer without a schema. */
    readonly produces?: string;
  },
): void {
  const content = produces && { [produces]: { schema: { type: 'string' } } };
  const answer = content && { answer: { 200: { description: 'OK', content } } };
  addRoute(server, call, { ...(endpoint as Added), ...answer });
}

/** Of a call that takes no body: enough for what an empty one looks like. Source: docs/interface.md §8. */
const NO_BODY_MIB = 1 / 64;

interface Added extends Endpoint {
  readonly answer?: object;
  handle(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}

/** The compiler has checked parameters and answers by now; Fastify checks what comes. */
function addRoute(
  server: Server,
  call: Call,
  { config, hooks, query, answer, failures = { '4xx': ErrorAnswer }, handle, ...about }: Added,
): void {
  const [method, url] = call.split(' ') as [HTTPMethods, string];
  const schema = { ...about, ...(query && { querystring: query }), response: { ...answer, ...failures } };
  const own = [hooks?.preValidation ?? []].flat();
  // Source: docs/interface.md §14.1 rule 8.
  const refusesBody =
    config.guard === 'management' &&
    method !== 'GET' &&
    about.body === undefined &&
    config.body === undefined;
  const bounded = refusesBody ? { ...config, maxBodyMib: NO_BODY_MIB } : config;
  const preValidation = refusesBody ? [refuseBody, ...own] : own;
  server.route({ ...hooks, preValidation, method, url, config: bounded, schema, handler: handle });
}

/**
 * The endpoints that resources of all kinds share: lists, reading with an ETag, changes that are made once for each `Idempotency-Key`.
 * The routes of a kind call them in the order of docs/openapi.json.
 */

/** A resource as it is answered. */
interface Answer<Resource> {
  readonly schema: TSchema;
  of(resource: Resource): object;
}

/** The compiler checks here that what is answered is what the schema says. */
export const answerAs = <Schema extends TSchema, Resource>(
  schema: Schema,
  of: (resource: Resource) => NoInfer<Sent<Static<Schema>>>,
): Answer<Resource> => ({ schema, of: of as (resource: Resource) => object });

/** @returns what answers the fields of a value that the schema names, in its order, and no others */
export const fieldsOf = <Schema extends TObject>({ properties }: Schema) => {
  const names = Object.keys(properties);
  return (value: NoInfer<Sent<Static<Schema>>>) =>
    Object.fromEntries(names.map((name) => [name, value[name as never]])) as Sent<Static<Schema>>;
};

/** How a kind is served. `Place` is where its resources are: a project, or what the caller reaches. */
interface Served<Resource, Place> {
  /** Of the list. */
  readonly path: string;
  /** Of the list's path. */
  readonly params: Readonly<Record<string, TSchema>>;
  placeOf(request: FastifyRequest): Place;
  /** The parameter with the id, in the path of one. */
  readonly idName: string;
  /** Of ids that are no numbers. */
  readonly idSchema?: TSchema;
  /** Who may call, where it differs. */
  readonly config?: FastifyContextConfig;
  readonly tags: readonly string[];
  readonly answerOnce: AnswerOnce;
  readonly answer: Answer<Resource>;
  /** The ETag of a kind that has one. Source: docs/interface.md §7.6. */
  markOf?(resource: Resource): string;
  /** The same of an answer, which may be that of a former request; a kind without it sends no ETag with new resources. */
  markOfAnswer?(answer: never): string;
}

/** For `Served`: resources of the project of the path. */
export const inProject = {
  params: { id: Id },
  placeOf: ({ project }: FastifyRequest) => project,
};

/** For `Served`: resources that the caller reaches. */
export const inReach = { params: {}, idName: 'id', placeOf: ({ caller }: FastifyRequest) => caller };

/** What is known of a change beside what is sent: who makes it, where, and what is written in its transaction. */
export interface ChangeRequest<Resource, Place> {
  readonly author: Caller;
  readonly place: Place;
  readonly beside: (tx: ControlTransaction, resource: Resource) => Promise<void>;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
}

/** What an endpoint says of itself, and settles for itself alone. */
interface About {
  readonly summary: string;
  readonly description?: string;
  readonly config?: FastifyContextConfig;
}

const managed = { guard: 'management', access: 'manage' } as const;

/** The endpoints of one kind. */
export function serveKind<Resource, Place>(server: Server, served: Served<Resource, Place>) {
  const {
    path,
    params,
    placeOf,
    idName,
    idSchema = Id,
    tags,
    answer,
    answerOnce,
    markOf,
    markOfAnswer,
  } = served;
  const pathOfOne = `${path}/:${idName}`;
  const aboutList = (about: About) => ({
    ...{ tags, ...about, ...(Object.keys(params).length > 0 && { params: Type.Object(params) }) },
    config: { ...managed, ...served.config, ...about.config },
  });
  const aboutOne = (about: About) => ({
    ...aboutList(about),
    params: Type.Object({ ...params, [idName]: idSchema }),
  });
  const idOf = (request: FastifyRequest) => (request.params as Readonly<Record<string, number>>)[idName] ?? 0;

  /** Makes a change once for each `Idempotency-Key`. What is stored for a repetition has no secret that is shown once. */
  function answerChange<Made extends Resource>(
    request: FastifyRequest,
    { reply, made }: { readonly reply: FastifyReply; readonly made: Answer<Made> | undefined },
    make: (change: ChangeRequest<Resource, Place>) => Promise<Made>,
  ): Promise<unknown> {
    return whileCallerWaits(reply, async (signal) => {
      const answered = await answerOnce(request, async (record) => {
        const beside = (tx: ControlTransaction, resource: Resource) => record(tx, answer.of(resource));
        const resource = await make({ author: request.caller, place: placeOf(request), beside, signal });
        if (markOf && !markOfAnswer && !made) sendMark(reply, markOf(resource));
        return (made ?? answer).of(resource);
      });
      if (markOfAnswer) sendMark(reply, markOfAnswer(answered as never));
      return answered;
    });
  }

  return {
    /** GET of the list. */
    list<Query extends TSchema = typeof ListQuery>({
      query = ListQuery as never,
      page = pageOf(answer.schema),
      list,
      ...about
    }: About & {
      readonly query?: Query;
      readonly page?: TSchema;
      list(
        place: Place,
        query: Static<Query> & Static<typeof ListQuery>,
      ): Promise<{ readonly items: readonly Resource[]; readonly nextCursor: string | null }>;
    }): void {
      serve(server, `GET ${path}`, {
        ...{ ...aboutList(about), query, answer: { 200: page } },
        async handle(request) {
          const { items, nextCursor } = await list(placeOf(request), request.query as never);
          return { items: items.map(answer.of), nextCursor };
        },
      });
    },

    /** POST to the list. */
    create<Body extends TSchema, Made extends Resource = Resource>({
      made,
      create,
      ...about
    }: About & {
      readonly body: Body;
      /** The answer, where it differs by a secret that is shown once. */
      readonly made?: Answer<Made> | undefined;
      create(change: ChangeRequest<Resource, Place>, sent: Static<Body>): Promise<Made>;
    }): void {
      serve(server, `POST ${path}`, {
        ...{ ...aboutList(about), answer: { 201: (made ?? answer).schema } },
        handle: (request, reply) =>
          answerChange(request, { reply, made }, (by) => create(by, request.body as never)),
      });
    },

    /** GET of one. */
    read({ get, ...about }: About & { get(place: Place, id: number): Promise<Resource> }): void {
      serve(server, `GET ${pathOfOne}`, {
        ...{ ...aboutOne(about), answer: { 200: answer.schema } },
        async handle(request, reply) {
          const resource = await get(placeOf(request), idOf(request));
          // A run changes the answer and not the mark, which names what a person wrote.
          if (markOf) sendMark(reply, markOf(resource));
          return answer.of(resource);
        },
      });
    },

    /** A change of one: PUT or PATCH, or a POST `below` its path. */
    change<Body extends TSchema, Made extends Resource = Resource>({
      method,
      below = '',
      body,
      made,
      change,
      ...about
    }: About & {
      readonly method: 'PUT' | 'PATCH' | 'POST';
      readonly below?: string;
      /** May be left out of a POST, whose settings have defaults. */
      readonly body?: Body;
      readonly made?: Answer<Made> | undefined;
      change(change: ChangeRequest<Resource, Place>, chosen: Chosen, sent: Static<Body>): Promise<Made>;
    }): void {
      const isStateful = method !== 'POST' && markOf !== undefined;
      serve(server, `${method} ${pathOfOne}${below}`, {
        ...{ ...aboutOne(about), ...(isStateful && { headers: IfMatch }), ...(body && { body }) },
        ...(body && method === 'POST' && { hooks: { preValidation: takeNoBody } }),
        answer: { 200: (made ?? answer).schema },
        handle(request, reply) {
          const chosen = { id: idOf(request), expected: isStateful ? readIfMatch(request) : undefined };
          return answerChange(request, { reply, made }, (by) => change(by, chosen, request.body as never));
        },
      });
    },

    /** DELETE of one. */
    remove<Query extends TSchema>({
      remove,
      query,
      ...about
    }: About & {
      readonly query?: Query;
      remove(
        change: Omit<ChangeRequest<unknown, Place>, 'signal'>,
        chosen: Chosen,
        query: Static<Query>,
      ): Promise<unknown>;
    }): void {
      serveOnce(server, `DELETE ${pathOfOne}`, {
        ...{ ...aboutOne(about), ...(query && { query }), ...(markOf && { headers: IfMatch }) },
        ...{ answer: { 200: DoneAnswer }, answerOnce },
        async handle(request, record) {
          const chosen = { id: idOf(request), expected: markOf && readIfMatch(request) };
          const beside = (tx: ControlTransaction) => record(tx, done);
          const change = { author: request.caller, place: placeOf(request), beside };
          await remove(change, chosen, request.query as never);
          return done;
        },
      });
    },
  };
}
