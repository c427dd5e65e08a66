import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../kernel/errors.ts';

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
