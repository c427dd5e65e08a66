import type { ApiHeader, ApiOperation } from './document.ts';

const header = (description: string, type = 'string'): ApiHeader => ({ description, schema: { type } });

/** The headers of answers, grouped by the answers that have them. Source: docs/interface §4, §5.3, §7. */
const ALWAYS = { 'X-Request-Id': header('the id of the request, which is also in the log') };
const CREATED = { Location: header('the path of the created resource') };
const REPEATED = {
  'Idempotency-Replayed': header('`true` if the answer repeats the first answer for the `Idempotency-Key`'),
};
const MARKED = { ETag: header('the state of the answered resource, for `If-Match` and `If-None-Match`') };
const LATER = { 'Retry-After': header('with 429, 503 and 507: seconds to wait', 'integer') };
const DENIED = { 'WWW-Authenticate': header('with 401: `Bearer`') };
const OTHER_METHOD = { Allow: header('with 405: the methods of the path') };
const LIMITED = {
  'RateLimit-Policy': header('for a key with a limit: the number of requests in a window'),
  RateLimit: header('for a key with a limit: the remaining requests, and the seconds until the next window'),
};
const IN_URL = { Deprecation: header('for a request with `?apiKey=`: since when that is deprecated') };

/** All headers by name, for `components` of the document. */
export const HEADERS: Readonly<Record<string, ApiHeader>> = {
  ...ALWAYS,
  ...CREATED,
  ...REPEATED,
  ...MARKED,
  ...LATER,
  ...DENIED,
  ...OTHER_METHOD,
  ...LIMITED,
  ...IN_URL,
};

const referTo = (headers: object) =>
  Object.fromEntries(
    Object.keys(headers).map((name) => [name, { $ref: `#/components/headers/${name}` }] as const),
  );

export interface AnsweringRoute {
  /** Whether the route accepts an `Idempotency-Key`. */
  readonly isOnce: boolean;
  readonly hasMark: boolean;
  readonly takesKey: boolean;
  readonly takesUrlKey: boolean;
}

/** @returns the operation with the headers of its answers */
export function describeHeaders(operation: ApiOperation, route: AnsweringRoute): ApiOperation {
  const { isOnce, hasMark, takesKey, takesUrlKey } = route;
  const ofCaller = { ...(takesKey && LIMITED), ...(takesUrlKey && IN_URL) };
  const headersOf = (status: string) => ({
    ...ALWAYS,
    ...ofCaller,
    ...(status === '201' && CREATED),
    ...(status.startsWith('2') && { ...(isOnce && REPEATED), ...(hasMark && MARKED) }),
    ...(/^(4XX|429|5)/.test(status) && LATER),
    ...(/^(4XX|401)$/.test(status) && takesKey && DENIED),
    ...(status === '4XX' && OTHER_METHOD),
  });
  const responses = Object.entries(operation.responses).map(
    ([status, response]) => [status, { ...response, headers: referTo(headersOf(status)) }] as const,
  );
  return { ...operation, responses: Object.fromEntries(responses) };
}

/** Source: docs/interface §7.5. */
export const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'a repeated request within 24 hours gets the first answer, and the work is done once',
  schema: { type: 'string', maxLength: 255 },
} as const;
