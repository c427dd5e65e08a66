/**
 * The routes that kinds share: lists, reading with an ETag, changes that are made once for each `Idempotency-Key`. The routes of a kind
 * call these in the order of docs/openapi.json.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import {
  type AnswerOnce,
  DoneAnswer,
  done,
  Id,
  IfMatch,
  ListQuery,
  pageOf,
  readIfMatch,
  sendMark,
} from '../http/answers/answers.ts';
import { whileCallerWaits } from '../http/guards/guards.ts';
import { type Once, type Sent, type Server, serve, serveOnce } from '../http/server/server.ts';
import type { Caller } from '../kernel/caller.ts';
import type { ListPage, PageRequest } from '../projects/projects.ts';
import type { ControlTransaction } from '../storage/storage.ts';
import type { Chosen } from './definitions.ts';

/** A resource as it is answered. */
export interface Answer<Resource> {
  readonly schema: TSchema;
  of(resource: Resource): object;
}

/** The compiler checks here that what is answered is what the schema says. */
export const answerAs = <Schema extends TSchema, Resource>(
  schema: Schema,
  of: (resource: Resource) => NoInfer<Sent<Static<Schema>>>,
): Answer<Resource> => ({ schema, of: of as (resource: Resource) => object });

/** How a kind is served. `Place` is where its resources are: a project, or what the caller reaches. */
export interface Served<Resource, Place> {
  /** Of the list. */
  readonly path: string;
  /** Of the list's path. */
  readonly params: Readonly<Record<string, TSchema>>;
  placeOf(request: FastifyRequest): Place;
  /** The parameter with the id, in the path of one. */
  readonly idName: string;
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
export const inReach = { params: {}, placeOf: ({ caller }: FastifyRequest) => caller };

/** What is known of a change beside what is sent: who makes it, where, and what is written in its transaction. */
export interface ChangeRequest<Resource, Place> {
  readonly author: Caller;
  readonly place: Place;
  readonly beside: (tx: ControlTransaction, resource: Resource) => Promise<void>;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
}

interface Words {
  readonly summary: string;
  readonly description?: string;
}

const config = { guard: 'management', access: 'manage' } as const;

/** GET and POST of the list of a kind. */
export function serveCollection<
  Resource,
  Place,
  Body extends TSchema,
  Made extends Resource = Resource,
  Query extends TSchema = typeof ListQuery,
>(
  server: Server,
  served: Served<Resource, Place>,
  {
    list,
    create: { body, create, maxBodyMib, made, ...words },
  }: {
    readonly list: Words & {
      readonly query?: Query;
      readonly page?: TSchema;
      list(place: NoInfer<Place>, query: Static<Query> & PageRequest): Promise<ListPage<Resource>>;
    };
    readonly create: Words & {
      readonly body: Body;
      readonly maxBodyMib?: number;
      /** The answer, where it differs by a secret that is shown once. */
      readonly made?: Answer<Made> | undefined;
      create(change: ChangeRequest<Resource, NoInfer<Place>>, sent: Static<Body>): Promise<Made>;
    };
  },
): void {
  const { path, tags, answer, answerOnce, params, placeOf } = served;
  const { query = ListQuery, page = pageOf(answer.schema), list: listPage, ...listWords } = list;
  const listed = { method: 'GET', path, config, tags, ...listWords, ...paramsOf(params), query } as const;
  serve(server, { ...listed, answer: { 200: page } }, async (request) => {
    const { items, nextCursor } = await listPage(placeOf(request), request.query as never);
    return { items: items.map(answer.of), nextCursor };
  });

  const endpoint = {
    ...{ ...words, ...paramsOf(params), path, tags, body },
    method: 'POST',
    config: maxBodyMib === undefined ? config : { ...config, maxBodyMib },
    ...{ answer: { 201: (made ?? answer).schema }, answerOnce },
  } as const;
  serveOnce(server, endpoint, (request, once, reply) =>
    answerChange({ ...served, made }, { request, once, reply }, (by) => create(by, request.body as never)),
  );
}

/** GET of one. */
export function serveRead<Resource, Place>(
  server: Server,
  served: Served<Resource, Place>,
  { get, ...words }: Words & { get(place: NoInfer<Place>, id: number): Promise<Resource> },
): void {
  const { answer, markOf, placeOf } = served;
  const endpoint = { ...aboutOne(served), ...words, method: 'GET', answer: { 200: answer.schema } } as const;
  serve(server, endpoint, async (request, reply) => {
    const resource = await get(placeOf(request), idOf(served, request));
    // A run changes the answer and not the mark, which names what a person wrote.
    if (markOf) sendMark(reply, markOf(resource));
    return answer.of(resource);
  });
}

/** A change of one: PUT or PATCH, or a POST `below` its path. */
export function serveChange<Resource, Place, Body extends TSchema, Made extends Resource = Resource>(
  server: Server,
  served: Served<Resource, Place>,
  {
    method,
    below = '',
    body,
    maxBodyMib,
    made,
    change,
    ...words
  }: Words & {
    readonly method: 'PUT' | 'PATCH' | 'POST';
    readonly below?: string;
    /** May be left out of a POST, whose settings have defaults. */
    readonly body?: Body;
    readonly maxBodyMib?: number;
    readonly made?: Answer<Made> | undefined;
    change(
      change: ChangeRequest<Resource, NoInfer<Place>>,
      chosen: Chosen,
      sent: Static<Body>,
    ): Promise<Made>;
  },
): void {
  const { path, ...about } = aboutOne(served);
  const isStateful = method !== 'POST' && served.markOf !== undefined;
  const endpoint = {
    ...{ ...about, ...words, method, path: `${path}${below}` },
    config: maxBodyMib === undefined ? config : { ...config, maxBodyMib },
    ...(isStateful && { headers: IfMatch }),
    ...(body && { body }),
    ...(body && method === 'POST' && { hooks: { preValidation: takeNoBody } }),
    ...{ answer: { 200: (made ?? served.answer).schema }, answerOnce: served.answerOnce },
  } as const;
  serveOnce(server, endpoint, (request, once, reply) => {
    const chosen = { id: idOf(served, request), expected: isStateful ? readIfMatch(request) : undefined };
    return answerChange({ ...served, made }, { request, once, reply }, (by) =>
      change(by, chosen, request.body as never),
    );
  });
}

const takeNoBody = async (request: FastifyRequest) => {
  request.body ??= {};
};

/** DELETE of one. */
export function serveRemoval<Resource, Place>(
  server: Server,
  served: Served<Resource, Place>,
  {
    remove,
    ...words
  }: Words & {
    remove(change: Omit<ChangeRequest<unknown, NoInfer<Place>>, 'signal'>, chosen: Chosen): Promise<void>;
  },
): void {
  const { markOf, placeOf, answerOnce } = served;
  const endpoint = {
    ...{ ...aboutOne(served), ...words, ...(markOf && { headers: IfMatch }) },
    method: 'DELETE',
    ...{ answer: { 200: DoneAnswer }, answerOnce },
  } as const;
  serveOnce(server, endpoint, (request, once) =>
    once(async (record) => {
      const chosen = { id: idOf(served, request), expected: markOf && readIfMatch(request) };
      const beside = (tx: ControlTransaction) => record(tx, done);
      await remove({ author: request.caller, place: placeOf(request), beside }, chosen);
      return done;
    }),
  );
}

/** Makes a change once for each `Idempotency-Key`. What is stored for a repetition has no secret that is shown once. */
function answerChange<Resource, Place, Made extends Resource>(
  {
    answer,
    placeOf,
    markOf,
    markOfAnswer,
    made,
  }: Served<Resource, Place> & { readonly made: Answer<Made> | undefined },
  { request, once, reply }: { request: FastifyRequest; once: Once<unknown>; reply: FastifyReply },
  make: (change: ChangeRequest<Resource, Place>) => Promise<Made>,
): Promise<unknown> {
  return whileCallerWaits(reply, async (signal) => {
    const answered = await once(async (record) => {
      const beside = (tx: ControlTransaction, resource: Resource) => record(tx, answer.of(resource));
      const resource = await make({ author: request.caller, place: placeOf(request), beside, signal });
      if (markOf && !markOfAnswer && !made) sendMark(reply, markOf(resource));
      return (made ?? answer).of(resource);
    });
    if (markOfAnswer) sendMark(reply, markOfAnswer(answered as never));
    return answered;
  });
}

const paramsOf = (params: Readonly<Record<string, TSchema>>) =>
  Object.keys(params).length === 0 ? {} : { params: Type.Object(params) };

const aboutOne = <Resource, Place>({ path, idName, params, tags }: Served<Resource, Place>) => ({
  ...{ path: `${path}/:${idName}`, config, tags, params: Type.Object({ ...params, [idName]: Id }) },
});

const idOf = <Resource, Place>(
  { idName }: Pick<Served<Resource, Place>, 'idName'>,
  { params }: FastifyRequest,
) => (params as Readonly<Record<string, number>>)[idName] ?? 0;
