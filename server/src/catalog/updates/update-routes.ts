import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { ErrorAnswer, ProjectQuery } from '../../http/answers/answers.ts';
import { type Routes, type RouteTools, type Server, serve } from '../../http/server/server.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { optional } from '../../kernel/optional.ts';
import { actorOf, type Projects } from '../../projects/projects.ts';
import type { Catalog } from '../catalog.ts';
import { readIdentifierList, refuseCommas } from '../products/products.ts';
import {
  Identifier,
  InvalidProducts,
  identifierList,
  PRODUCTS_PER_REQUEST,
  UpdateBody,
} from '../products/schemas/schemas.ts';
import { giveBackBody, rawBodyOf, SENDS } from './sent-bodies.ts';
import { type ProductsAccepted, TaskStarted, UpdateAnswer } from './update-answers.ts';

interface UpdateRouteParts extends RouteTools {
  readonly catalog: Catalog;
  readonly projects: Pick<Projects, 'recordChange'>;
}

const about = { tags: ['Updates'], failures: { '4xx': ErrorAnswer, 507: ErrorAnswer } };
const config = { guard: 'project', access: 'write' } as const;

/** Updates and deletes outside full updates. Source: docs/interface §4.3 and §4.6. */
export const updateRoutes =
  (parts: UpdateRouteParts): Routes =>
  (server) => {
    serveUpdate(server, parts);
    serveDelete(server, parts);
  };

const UpdateQuery = Type.Object({
  ...ProjectQuery.properties,
  onInvalid: InvalidProducts,
  partial: optional.flag('default false'),
});

function serveUpdate(server: Server, { catalog, answerOnce, uploadMaxMib }: UpdateRouteParts): void {
  for (const method of SENDS)
    serve(server, `${method} /products`, {
      ...about,
      hooks: {
        preParsing: async (request) => {
          request.payload = catalog.ingest.openPayload(request.project.id);
        },
      },
      config: { ...config, body: 'raw', maxBodyMib: uploadMaxMib, isOnce: true },
      summary: 'Replace products (incremental update) or change some of their fields (partial update)',
      query: UpdateQuery,
      body: UpdateBody,
      answer: { 200: UpdateAnswer },
      handle(request) {
        const { onInvalid, partial } = request.query;
        const raw = rawBodyOf(request);
        const updating = answerOnce<ProductsAccepted>(request, async (record) => {
          const legacy = await catalog.ingest.readLegacyForm(request.project.id, raw);
          const options = { partial: partial === true, onInvalid, legacyItems: legacy?.items };
          return catalog.updates.update(request.project, legacy?.body ?? raw, { ...options, record });
        });
        return giveBackBody(request, updating);
      },
    });
}

const listed = identifierList(
  'instead of a body: a JSON array of identifiers, or one identifier per parameter',
  PRODUCTS_PER_REQUEST,
);
const DeleteQuery = Type.Object({
  ...ProjectQuery.properties,
  identifiers: listed,
  articleNumber: listed,
});
const documented = { maxItems: PRODUCTS_PER_REQUEST };
const identifiers = { type: 'array', items: Identifier, minItems: 1, documented };
const DeleteBody = Type.Unsafe<{ identifiers: string[] } | string[]>({
  anyOf: [{ type: 'object', required: ['identifiers'], properties: { identifiers } }, identifiers],
  description: `{"identifiers":["A1",…]} or the bare list, 1 to ${PRODUCTS_PER_REQUEST} identifiers`,
});

/**
 * A body has up to 10,000 identifiers of 255 characters, each with up to twelve bytes of JSON (two escaped
 * surrogates). A refusal counts up to twice as many.
 */
const takesIdentifiers = {
  maxBodyMib: 30,
  holds: { values: 20_000, list: { most: PRODUCTS_PER_REQUEST, code: 'too_many_identifiers' } },
} as const;
/** A POST exists because not every client sends a body with DELETE. */
const DELETE_CALLS = ['DELETE /products', 'POST /products/delete'] as const;

const listOf = (body: { identifiers: string[] } | string[]) =>
  Array.isArray(body) ? body : body.identifiers;

/** @returns the parameters that name products, unparsed */
const listNamed = ({ identifiers, articleNumber }: Static<typeof DeleteQuery>) =>
  [identifiers, articleNumber].filter((parameter) => parameter !== undefined);

/**
 * Takes identifiers from the query, where connectors put them. If the query and the body both have identifiers, they
 * must agree.
 */
async function takeFromQuery(request: FastifyRequest): Promise<void> {
  const named = listNamed(request.query as Static<typeof DeleteQuery>).flatMap(readIdentifierList);
  if (named.length === 0) return;
  if (isEmpty(request.body)) request.body = named;
  else if (JSON.stringify(listOf(request.body as string[])) !== JSON.stringify(named))
    throw new ServiceError(
      'query_invalid',
      '/identifiers differs between the query and the body; send it in only one of them',
    );
}

/** An empty list counts as no body, because PHP sends it for an empty object. */
const isEmpty = (body: unknown) =>
  typeof body !== 'object' || body === null || Object.keys(body).length === 0;

function describeDelete({ caller, project: { id, name } }: FastifyRequest, identifiers: readonly string[]) {
  return {
    author: caller,
    projectId: id,
    action: 'products.deleted',
    subject: { type: 'project', id, name },
    details: { count: identifiers.length, identifiers: identifiers.slice(0, 100) },
  };
}

function serveDelete(server: Server, { catalog, answerOnce, projects }: UpdateRouteParts): void {
  for (const call of DELETE_CALLS)
    serve(server, call, {
      ...about,
      config: { ...config, ...takesIdentifiers, isOnce: true },
      summary: 'Delete products by identifier',
      hooks: { preValidation: takeFromQuery },
      query: DeleteQuery,
      body: DeleteBody,
      answer: { 200: TaskStarted },
      async handle(request) {
        const identifiers = listOf(request.body);
        const most = PRODUCTS_PER_REQUEST;
        if (identifiers.length > most)
          throw new ServiceError('too_many_identifiers', { values: [identifiers.length, most] });
        return answerOnce(request, async (record) => {
          for (const parameter of listNamed(request.query))
            await refuseCommas(parameter, (some) => catalog.deletes.mayGetAny(request.project.id, some));
          return catalog.deletes.remove(request.project, identifiers, {
            author: actorOf(request.caller),
            async record(tx, answer) {
              await record(tx, answer);
              await projects.recordChange(describeDelete(request, identifiers), tx);
            },
          });
        });
      },
    });
}
