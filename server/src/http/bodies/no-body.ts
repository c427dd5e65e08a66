import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../kernel/errors.ts';
import { describeSchemaErrors } from '../answers/answers.ts';
import { createBodyChecks } from './body-check.ts';

/** PHP sends an empty list for an empty object. */
export const saysNothing = (body: unknown): boolean =>
  body === undefined || body === null || (Array.isArray(body) && body.length === 0);

/** Of a POST that does what a GET does: without a body, everything is in the query. Source: docs/interface.md §4 rule 9. */
export async function takeNoBody(request: FastifyRequest): Promise<void> {
  if (saysNothing(request.body)) request.body = {};
}

const checkEmpty = createBodyChecks()({ type: 'object', additionalProperties: false });

/**
 * Of a call that takes no body: what is sent would be believed to have an effect.
 * @throws request_invalid
 */
export async function refuseBody({ body }: FastifyRequest): Promise<void> {
  if (saysNothing(body) || checkEmpty(body)) return;
  throw new ServiceError('request_invalid', { details: describeSchemaErrors(checkEmpty.errors ?? []) });
}
