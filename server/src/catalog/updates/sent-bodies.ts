import type { RawBody } from '../../http/bodies/bodies.ts';
import { ServiceError } from '../../kernel/errors.ts';

/** Some connectors use PUT where others use POST. */
export const SENDS = ['POST', 'PUT'] as const;

/** A request with a body that is not parsed. */
interface WithBody {
  readonly rawBody?: RawBody | undefined;
}

/** Gives back the memory of a body that was not taken over, e.g. because the request repeats another. */
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
