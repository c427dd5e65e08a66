import { isDeepStrictEqual } from 'node:util';
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../kernel/errors.ts';

/** Of a POST that does what a GET does: without a body, everything is in the query. Source: docs/interface.md §4 rule 9. */
export async function takeNoBody(request: FastifyRequest): Promise<void> {
  // PHP sends an empty list for an empty object.
  const { body } = request;
  if (body === undefined || body === null || (Array.isArray(body) && body.length === 0)) request.body = {};
}

/**
 * Parameters may stand in the query and in the body; null is not sent.
 * @throws query_invalid where both say something else
 */
export function joinTwins<Parameters extends object>(query: Parameters, body: Parameters): Parameters {
  const sent = Object.entries(body).filter(([, value]) => value !== undefined && value !== null);
  for (const [name, value] of sent) {
    const asked = (query as Record<string, unknown>)[name];
    if (asked === undefined || isDeepStrictEqual(asked, value)) continue;
    throw new ServiceError('query_invalid', { details: [`/${name} of the query and of the body differ`] });
  }
  return { ...query, ...Object.fromEntries(sent) };
}
