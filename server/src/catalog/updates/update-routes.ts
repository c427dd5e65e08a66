import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  type AnswerOnce,
  type Endpoint,
  ErrorAnswer,
  ProjectQuery,
  type RawBody,
  type Routes,
  serve,
  serveOnce,
} from '../../http/http.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { actorOf, type Projects } from '../../projects/projects.ts';
import type { Catalog } from '../catalog.ts';
import {
  Identifier,
  type OnInvalid,
  PRODUCTS_PER_REQUEST,
  readIdentifierList,
  refuseCommas,
  UpdateBody,
} from '../products/products.ts';
import { SUCCESS_TEXTS, success, TaskStarted, UpdateAnswer } from './update-answers.ts';

export interface UpdateRouteParts {
  readonly catalog: Catalog;
  readonly answerOnce: AnswerOnce;
  readonly projects: Pick<Projects, 'recordChange'>;
  readonly uploadMaxMib: number;
}

export const about = { tags: ['Updates'], failures: { '4xx': ErrorAnswer, 507: ErrorAnswer } };
export const config = { guard: 'project', access: 'write' } as const;
/** Some connectors PUT what others POST. */
export const SENDS = ['POST', 'PUT'] as const;

export const onInvalid = Type.Optional(
  Type.Unsafe<OnInvalid>({
    type: 'string',
    enum: ['refuse', 'skip'],
    description:
      'what becomes of a request with products that are not valid; default: the setting of the project',
  }),
);
const UpdateQuery = Type.Object({
  ...ProjectQuery.properties,
  onInvalid,
  partial: Type.Optional(
    Type.Unsafe<'true' | 'false'>({
      type: 'string',
      enum: ['true', 'false'],
      description: 'default false; 1, 0 and other cases are taken too',
    }),
  ),
});

/** Source: docs/interface.md §4.3. */
export const productUpdateRoutes =
  ({ catalog, answerOnce, uploadMaxMib }: UpdateRouteParts): Routes =>
  (server) => {
    const update = {
      ...about,
      hooks: { onRequest: readPartial, preParsing: storingBody(catalog) },
      path: '/products',
      config: { ...config, body: 'raw', maxBodyMib: uploadMaxMib },
      summary: 'Replace products (incremental update) or change some of their fields (partial update)',
      ...{ query: UpdateQuery, body: UpdateBody, answer: { 200: UpdateAnswer }, answerOnce },
    } as const;
    for (const method of SENDS)
      serveOnce(server, { ...update, method }, (request, once) => {
        const { onInvalid } = request.query;
        const partial = request.query.partial === 'true';
        return untilDone(
          request,
          once((record) =>
            catalog.updates.update(request.project, rawBodyOf(request), { partial, onInvalid, record }),
          ),
        );
      });
  };

const storingBody = (catalog: Catalog) => async (request: FastifyRequest) => {
  request.payload = catalog.openPayload(request.project.id);
};

/** As PHP (1, 0) and Python (True, False) write it. */
async function readPartial(request: FastifyRequest): Promise<void> {
  const query = request.query as Record<string, unknown>;
  if (typeof query.partial !== 'string') return;
  const written = query.partial.toLowerCase();
  query.partial = { '1': 'true', '0': 'false' }[written] ?? written;
}

/** Gives back the memory of a body that was not taken over, e.g. of a request that repeats another. */
export async function untilDone<Answer>({ rawBody }: FastifyRequest, work: Promise<Answer>): Promise<Answer> {
  try {
    return await work;
  } finally {
    rawBody?.loan?.giveBack();
  }
}

/** @throws body_not_json for a request without a body */
export function rawBodyOf(request: FastifyRequest): RawBody {
  if (request.rawBody === undefined)
    throw new ServiceError('body_not_json', { details: ['the body is empty'] });
  return request.rawBody;
}

const listed = Type.Optional(
  Type.Unsafe<string | string[]>({
    anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
    description: 'in place of a body: a JSON array of identifiers, or one identifier a parameter',
  }),
);
const DeleteQuery = Type.Object({
  ...ProjectQuery.properties,
  identifiers: listed,
  articleNumber: listed,
});
const DeleteBody = Type.Unsafe<{ identifiers: string[] } | string[]>({
  anyOf: [
    {
      type: 'object',
      required: ['identifiers'],
      properties: { identifiers: { type: 'array', items: Identifier, minItems: 1 } },
    },
    { type: 'array', items: Identifier, minItems: 1 },
  ],
  description: `{"identifiers":["A1",…]} or the bare list, 1 to ${PRODUCTS_PER_REQUEST} identifiers`,
});

/** 10,000 identifiers of 255 characters, each up to twelve bytes of JSON: two escaped surrogates. The refusal of up to twice as many names their count. */
const takesIdentifiers = { maxBodyMib: 30, holds: { values: 20_000 } } as const;
/** Not every client sends a body with DELETE. */
const DELETE_CALLS = [
  { method: 'DELETE', path: '/products' },
  { method: 'POST', path: '/products/delete' },
] as const;

/** Source: docs/interface.md §4.6. */
export const deleteRoutes =
  ({ catalog, answerOnce, projects }: UpdateRouteParts): Routes =>
  (server) => {
    const remove = {
      ...about,
      config: { ...config, ...takesIdentifiers },
      summary: 'Delete products by identifier',
      hooks: { preValidation: takeFromQuery } satisfies Endpoint['hooks'],
      ...{ query: DeleteQuery, body: DeleteBody, answer: { 200: TaskStarted }, answerOnce },
    } as const;
    for (const call of DELETE_CALLS)
      serveOnce(server, { ...remove, ...call }, async (request, once) => {
        const identifiers = listOf(request.body);
        if (identifiers.length > PRODUCTS_PER_REQUEST) {
          throw new ServiceError('too_many_identifiers', {
            values: [identifiers.length, PRODUCTS_PER_REQUEST],
          });
        }
        return once(async (record) => {
          for (const given of listNamed(request.query))
            await refuseCommas(given, (some) => catalog.updates.mayGetAny(request.project.id, some));
          return catalog.updates.remove(request.project, [...new Set(identifiers)], {
            author: actorOf(request.caller),
            async record(tx, answer) {
              await record(tx, answer);
              await projects.recordChange(describeDelete(request, identifiers), tx);
            },
          });
        });
      });
  };

const listOf = (body: { identifiers: string[] } | string[]) =>
  Array.isArray(body) ? body : body.identifiers;

/** Parameters that name products, as they were given. */
const listNamed = ({ identifiers, articleNumber }: Static<typeof DeleteQuery>) =>
  [identifiers, articleNumber].filter((given) => given !== undefined);

/** Connectors name them in the query; where both do, they have to agree. */
async function takeFromQuery(request: FastifyRequest): Promise<void> {
  const named = listNamed(request.query as Static<typeof DeleteQuery>).flatMap(readIdentifierList);
  if (named.length === 0) return;
  if (isEmpty(request.body)) request.body = named;
  else if (JSON.stringify(listOf(request.body as string[])) !== JSON.stringify(named)) {
    const details = ['/identifiers of the query and of the body differ, send one of them'];
    throw new ServiceError('query_invalid', { details });
  }
}

/** PHP sends an empty list where there is nothing to send. */
const isEmpty = (body: unknown) =>
  typeof body !== 'object' || body === null || Object.keys(body).length === 0;

/** For the audit log. */
function describeDelete({ caller, project: { id, name } }: FastifyRequest, identifiers: readonly string[]) {
  return {
    ...{ author: caller, projectId: id, action: 'products.deleted' },
    subject: { type: 'project', id, name },
    details: { count: identifiers.length, identifiers: identifiers.slice(0, 100) },
  };
}

const message = Type.String();
const count = Type.Optional(Type.Integer({ description: 'left out for a body over 4 MiB or 20,000 pages' }));
const Accepted = Type.Object({ message, status: success, nrOfSent: count, nrOfParsed: count });
const ANSWERED = 'pages of a shop are answered and kept nowhere';

/** What connectors send of the pages of a shop, with what they are answered. */
const CONTENT_CALLS = [
  { method: 'POST', path: '/content', text: SUCCESS_TEXTS.update },
  { method: 'PUT', path: '/content', text: SUCCESS_TEXTS.update },
  { method: 'DELETE', path: '/content', text: SUCCESS_TEXTS.delete },
  { method: 'POST', path: '/content/batch/initiate', text: SUCCESS_TEXTS.initiate },
  { method: 'POST', path: '/content/batch/upload', text: SUCCESS_TEXTS.upload },
  { method: 'PUT', path: '/content/batch/upload', text: SUCCESS_TEXTS.upload },
] as const;

/**
 * Without an answer, a connector that sends pages as well as products never gets to its products. Source: docs/interface.md
 * §4.11.
 */
export const contentRoutes =
  ({ catalog, uploadMaxMib }: UpdateRouteParts): Routes =>
  (server) => {
    const logged = new Set<number>();
    const logOnce = ({ project, log }: FastifyRequest) => {
      if (!logged.has(project.id)) log.info({ project: project.id }, ANSWERED);
      logged.add(project.id);
    };
    const page = {
      tags: about.tags,
      config: { ...config, body: 'raw', maxBodyMib: uploadMaxMib },
      summary: 'Pages of a shop: answered, counted and kept nowhere',
      query: ProjectQuery,
      failures: { '4xx': ErrorAnswer },
    } as const;
    for (const { text, ...call } of CONTENT_CALLS)
      serve(server, { ...page, ...call, answer: { 200: Accepted } }, async (request) => {
        logOnce(request);
        const { rawBody, project } = request;
        const pages = rawBody && (await catalog.countPages(project.id, rawBody));
        const counts = pages === undefined ? {} : { nrOfSent: pages, nrOfParsed: pages };
        return { message: text, status: 'success' as const, ...counts };
      });
    const start = { ...page, method: 'POST', path: '/content/batch/start' } as const;
    const answer = { 200: Type.Object({ status: success, data: Accepted }) };
    serve(server, { ...start, answer }, async (request) => {
      logOnce(request);
      return {
        status: 'success' as const,
        data: { message: SUCCESS_TEXTS.start, status: 'success' as const },
      };
    });
  };
