/**
 * The endpoints that resources of all kinds share: lists, reading with an ETag, changes that are made once for each `Idempotency-Key`.
 * The routes of a kind call them in the order of docs/openapi.json.
 */
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import type { Caller } from '../../kernel/caller.ts';
import type { Chosen, ControlTransaction } from '../../storage/storage.ts';
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
} from '../answers/answers.ts';
import { whileCallerWaits } from '../guards/guards.ts';
import { type Sent, type Server, serve, serveOnce } from './endpoint.ts';

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

const takeNoBody = async (request: FastifyRequest) => {
  request.body ??= {};
};
