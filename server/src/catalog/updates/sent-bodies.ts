import type { RawBody } from '../../http/bodies/bodies.ts';
import { ServiceError } from '../../kernel/errors.ts';

/** Some connectors use PUT instead of POST. */
export const SENDS = ['POST', 'PUT'] as const;

/** A request with a body that is not parsed. */
interface WithBody {
  readonly rawBody?: RawBody | undefined;
}

/** Returns the memory of a body that no other owner took, for example because the request repeats another one. */
export async function giveBackBody<Answer>({ rawBody }: WithBody, work: Promise<Answer>): Promise<Answer> {
  try {
    return await work;
  } finally {
    rawBody?.loan?.giveBack();
  }
}

/** @throws body_not_json for a request without a body */
export function rawBodyOf({ rawBody }: WithBody): RawBody {
  if (rawBody === undefined) throw new ServiceError('body_not_json', 'the body is empty');
  return rawBody;
}
