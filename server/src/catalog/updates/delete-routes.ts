import type { FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { type AnswerOnce, type Endpoint, ErrorAnswer, type Routes, serveOnce } from '../../http/http.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { actorOf, type Projects } from '../../projects/projects.ts';
import type { Catalog } from '../catalog.ts';
import {
  DeleteBody,
  DeleteQuery,
  PRODUCTS_PER_REQUEST,
  readIdentifierList,
  refuseCommas,
  TaskStarted,
} from '../products/products.ts';

export interface DeleteRouteParts {
  readonly catalog: Catalog;
  readonly answerOnce: AnswerOnce;
  readonly projects: Pick<Projects, 'recordChange'>;
}

/** 10,000 identifiers of 255 characters, each up to twelve bytes of JSON: two escaped surrogates. The refusal of up to twice as many names their count. */
const takesIdentifiers = { maxBodyMib: 30, holds: { values: 20_000 } } as const;
/** Not every client sends a body with DELETE. */
const CALLS = [
  { method: 'DELETE', path: '/products' },
  { method: 'POST', path: '/products/delete' },
] as const;

/** Source: docs/interface.md §4.6. */
export const deleteRoutes =
  ({ catalog, answerOnce, projects }: DeleteRouteParts): Routes =>
  (server) => {
    const remove = {
      tags: ['Updates'],
      failures: { '4xx': ErrorAnswer, 507: ErrorAnswer },
      config: { guard: 'project', access: 'write', ...takesIdentifiers },
      summary: 'Delete products by identifier',
      hooks: { preValidation: takeFromQuery } satisfies Endpoint['hooks'],
      ...{ query: DeleteQuery, body: DeleteBody, answer: { 200: TaskStarted }, answerOnce },
    } as const;
    for (const call of CALLS)
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
