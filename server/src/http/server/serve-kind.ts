import type { FastifyContextConfig as ContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import type { Caller } from '../../kernel/caller.ts';
import type { Chosen, ControlTransaction } from '../../storage/storage.ts';
import {
  type AnswerOnce,
  DoneAnswer,
  Id,
  IfMatch,
  ListQuery,
  pageOf,
  readIfMatch,
  sendMark,
  successAnswer,
} from '../answers/answers.ts';
import { takeNoBody } from '../bodies/bodies.ts';
import { whileCallerWaits } from '../guards/guards.ts';
import { type Sent, type Server, serve, serveOnce } from './endpoint.ts';

/** How a resource is returned. */
interface Answer<Resource> {
  readonly schema: TSchema;
  of(resource: Resource): object;
}

/** Lets the compiler check that the answer fits the schema. */
export const answerAs = <Schema extends TSchema, Resource>(
  schema: Schema,
  of: (resource: Resource) => NoInfer<Sent<Static<Schema>>>,
): Answer<Resource> => ({ schema, of: of as (resource: Resource) => object });

/** How a kind is served. `Place` is where its resources are: a project, or all that the caller can access. */
interface Served<Resource, Place> {
  /** The path of the list. */
  readonly path: string;
  /** Parameters of the list's path. */
  readonly params: Readonly<Record<string, TSchema>>;
  placeOf(request: FastifyRequest): Place;
  /** The name of the id parameter in the path of a resource. */
  readonly idName: string;
  /** Set if ids are not numbers. */
  readonly idSchema?: TSchema;
  /** Who may call, if it differs from the default. */
  readonly config?: ContextConfig;
  readonly tags: readonly string[];
  readonly answerOnce: AnswerOnce;
  readonly answer: Answer<Resource>;
  /** The ETag of a resource, if its kind has one. Source: docs/interface §7.6. */
  markOf?(resource: Resource): string;
  /**
   * The ETag of an answer, which may be the answer to an earlier request. Without this function, new resources are sent
   * without an ETag.
   */
  markOfAnswer?(answer: object): string;
}

/** For `Served`: the resources of the project in the path. */
export const inProject = { params: { id: Id }, placeOf: ({ project }: FastifyRequest) => project };

/** For `Served`: the resources that the caller can access. */
export const inReach = { params: {}, idName: 'id', placeOf: ({ caller }: FastifyRequest) => caller };

/** The facts about a change besides the body: who makes it, where, and what its transaction also writes. */
export interface ChangeRequest<Resource, Place> {
  readonly author: Caller;
  readonly place: Place;
  readonly beside: (tx: ControlTransaction, resource: Resource) => Promise<void>;
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal;
}

/** What each endpoint specifies. */
interface About {
  readonly summary: string;
  readonly description?: string;
  readonly config?: ContextConfig;
}

const managed = { guard: 'management', access: 'manage' } as const;

interface ListAbout<Resource, Place, Query extends TSchema> extends About {
  readonly query?: Query;
  readonly page?: TSchema;
  list(
    place: Place,
    query: Static<Query> & Static<typeof ListQuery>,
  ): Promise<{ readonly items: readonly Resource[]; readonly nextCursor: string | null }>;
}

interface CreateAbout<Resource, Place, Body extends TSchema, Made extends Resource> extends About {
  readonly body: Body;
  /** The answer, if it differs because a secret is shown once. */
  readonly made?: Answer<Made> | undefined;
  create(change: ChangeRequest<Resource, Place>, sent: Static<Body>): Promise<Made>;
}

interface ReadAbout<Resource, Place> extends About {
  get(place: Place, id: number): Promise<Resource>;
}

interface ChangeAbout<Resource, Place, Body extends TSchema, Made extends Resource> extends About {
  readonly method: 'PUT' | 'PATCH' | 'POST';
  readonly below?: string;
  /** May be omitted for a POST whose settings all have defaults. */
  readonly body?: Body;
  readonly made?: Answer<Made> | undefined;
  change(change: ChangeRequest<Resource, Place>, chosen: Chosen, sent: Static<Body>): Promise<Made>;
}

interface RemoveAbout<Place, Query extends TSchema> extends About {
  readonly query?: Query;
  remove(
    change: Omit<ChangeRequest<unknown, Place>, 'signal'>,
    chosen: Chosen,
    query: Static<Query>,
  ): Promise<unknown>;
}

/**
 * The endpoints that resources of all kinds share: lists, reading with an ETag, and changes that are made once for each
 * `Idempotency-Key`. The routes of a kind call them in the order of docs/openapi.json.
 */
class KindEndpoints<Resource, Place> {
  private readonly server: Server;
  private readonly served: Served<Resource, Place>;
  private readonly pathOfOne: string;

  constructor(server: Server, served: Served<Resource, Place>) {
    this.server = server;
    this.served = served;
    this.pathOfOne = `${served.path}/:${served.idName}`;
  }

  list<Query extends TSchema = typeof ListQuery>(endpoint: ListAbout<Resource, Place, Query>): void {
    const { answer, path, placeOf } = this.served;
    const { query = ListQuery, page = pageOf(answer.schema), list, ...about } = endpoint;
    serve(this.server, `GET ${path}`, {
      ...this.aboutList(about),
      query,
      answer: { 200: page },
      async handle(request) {
        const { items, nextCursor } = await list(
          placeOf(request),
          request.query as Parameters<typeof list>[1],
        );
        return { items: items.map(answer.of), nextCursor };
      },
    });
  }

  create<Body extends TSchema, Made extends Resource = Resource>(
    endpoint: CreateAbout<Resource, Place, Body, Made>,
  ): void {
    const { made, create, ...about } = endpoint;
    serve(this.server, `POST ${this.served.path}`, {
      ...this.once(this.aboutList(about)),
      answer: { 201: (made ?? this.served.answer).schema },
      handle: (request, reply) =>
        this.answerChange(request, { reply, made }, (by) => create(by, request.body as Static<Body>)),
    });
  }

  read({ get, ...about }: ReadAbout<Resource, Place>): void {
    const { answer, markOf, placeOf } = this.served;
    serve(this.server, `GET ${this.pathOfOne}`, {
      ...this.marked(this.aboutOne(about)),
      answer: { 200: answer.schema },
      handle: async (request, reply) => {
        const resource = await get(placeOf(request), this.idOf(request));
        // A run of a resource changes the answer but not the ETag, which stands for the definition that a person wrote.
        if (markOf) sendMark(reply, markOf(resource));
        return answer.of(resource);
      },
    });
  }

  /** Changes a resource: PUT or PATCH, or a POST `below` its path. */
  change<Body extends TSchema, Made extends Resource = Resource>(
    endpoint: ChangeAbout<Resource, Place, Body, Made>,
  ): void {
    const { method, below = '', body, made, change, ...about } = endpoint;
    const isStateful = method !== 'POST' && this.served.markOf !== undefined;
    serve(this.server, `${method} ${this.pathOfOne}${below}`, {
      ...this.once(this.aboutOne(about)),
      ...(isStateful && { headers: IfMatch }),
      ...(body && { body }),
      ...(body && method === 'POST' && { hooks: { preValidation: takeNoBody } }),
      answer: { 200: (made ?? this.served.answer).schema },
      handle: (request, reply) => {
        const expected = isStateful ? readIfMatch(request) : undefined;
        const chosen = { id: this.idOf(request), expected };
        return this.answerChange(request, { reply, made }, (by) =>
          change(by, chosen, request.body as Static<Body>),
        );
      },
    });
  }

  remove<Query extends TSchema>({ remove, query, ...about }: RemoveAbout<Place, Query>): void {
    const { answerOnce, markOf, placeOf } = this.served;
    serveOnce(this.server, `DELETE ${this.pathOfOne}`, {
      ...this.aboutOne(about),
      ...(query && { query }),
      ...(markOf && { headers: IfMatch }),
      answer: { 200: DoneAnswer },
      answerOnce,
      handle: async (request, record) => {
        const chosen = { id: this.idOf(request), expected: markOf && readIfMatch(request) };
        const beside = (tx: ControlTransaction) => record(tx, successAnswer);
        const change = { author: request.caller, place: placeOf(request), beside };
        await remove(change, chosen, request.query as Static<Query>);
        return successAnswer;
      },
    });
  }

  private aboutList<Described extends About>(about: Described) {
    const { config, params, tags } = this.served;
    return {
      tags,
      ...about,
      ...(Object.keys(params).length > 0 && { params: Type.Object(params) }),
      config: { ...managed, ...config, ...about.config },
    };
  }

  private aboutOne<Described extends About>(about: Described) {
    const { idName, idSchema = Id, params } = this.served;
    return { ...this.aboutList(about), params: Type.Object({ ...params, [idName]: idSchema }) };
  }

  private marked<Described extends { config: ContextConfig }>(described: Described) {
    const { markOf, markOfAnswer } = this.served;
    const hasMark = markOf !== undefined || markOfAnswer !== undefined;
    return { ...described, config: { ...described.config, hasMark } };
  }

  private once<Described extends { config: ContextConfig }>(described: Described) {
    const { config, ...rest } = this.marked(described);
    return { ...rest, config: { ...config, isOnce: true } };
  }

  private idOf({ params }: FastifyRequest): number {
    return (params as Readonly<Record<string, number>>)[this.served.idName] ?? 0;
  }

  /** Makes a change once for each `Idempotency-Key`. The stored answer omits secrets that are shown once. */
  private answerChange<Made extends Resource>(
    request: FastifyRequest,
    { reply, made }: { readonly reply: FastifyReply; readonly made: Answer<Made> | undefined },
    make: (change: ChangeRequest<Resource, Place>) => Promise<Made>,
  ): Promise<unknown> {
    const { answer, answerOnce, markOf, markOfAnswer, placeOf } = this.served;
    return whileCallerWaits(reply, async (signal) => {
      const answered = await answerOnce(request, async (record) => {
        const beside = (tx: ControlTransaction, resource: Resource) => record(tx, answer.of(resource));
        const resource = await make({ author: request.caller, place: placeOf(request), beside, signal });
        if (markOf && !markOfAnswer && !made) sendMark(reply, markOf(resource));
        return (made ?? answer).of(resource);
      });
      if (markOfAnswer) sendMark(reply, markOfAnswer(answered));
      return answered;
    });
  }
}

/** @returns the endpoints of a kind; calling a method adds its endpoint to the server */
export const serveKind = <Resource, Place>(server: Server, served: Served<Resource, Place>) =>
  new KindEndpoints(server, served);
