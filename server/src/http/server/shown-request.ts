/** How logs and lists of requests show a request: without any part that may be a key or the token of an address. */

import type { FastifyRequest } from 'fastify';
import { isSecretName, looksSecret, MASK, maskLooks, maskSecrets } from '../../kernel/secret-mask.ts';

/** The most characters of a path in a log line. */
const MOST_SHOWN = 1_000;
/**
 * The number of letters of an unknown word that a path in the log may show. They are too few to find a key by trying
 * the rest.
 */
const MOST_UNKNOWN_LETTERS = 20;
const NUMBER = /^\d{1,15}$/;
const WORD = /^[a-z]+(?:[._-][a-z]+)*$/i;

/** The serializers of requests, answers and errors in log lines. Source: docs/interface §5.1 rule 9. */
export function createSerializers() {
  const words = new Set<string>();
  return {
    /** Words in the patterns of routes, which may be shown also in paths that no route serves. */
    addRoute(pattern: string): void {
      for (const segment of pattern.split('/')) if (!/^[:*]/.test(segment)) words.add(segment);
    },
    serializers: {
      // Without the query, because it may contain ?apiKey=.
      req: (request: FastifyRequest) => ({
        method: request.method,
        path: showPath(request, words),
        ip: request.ip,
      }),
      err: showError,
      res: ({ statusCode }: { statusCode: number }) => ({ statusCode }),
    },
  };
}

/** @returns the path, with its possibly secret segments masked */
export function showPath(
  { originalUrl: url, routeOptions }: FastifyRequest,
  words?: ReadonlySet<string>,
): string {
  const { url: pattern, config } = (routeOptions ?? {}) as Partial<FastifyRequest['routeOptions']>;
  if (config?.hasSecretPath && pattern !== undefined) return pattern;
  // Anyone may send a request that has no route, so only the beginning of a long path is read.
  const [path = ''] = url.slice(0, MOST_SHOWN).split('?', 1);
  const segments = path.split('/');
  // The path is also read as a whole, because a base64 secret may contain slashes.
  const shown =
    pattern === undefined
      ? showUnknown(segments, words).join('/')
      : maskLooks(segments.map(showSegment).join('/'));
  return shown + (path.length === MOST_SHOWN ? '…' : '');
}

const showSegment = (segment: string) => (looksSecret(decodeLeniently(segment)) ? MASK : segment);

/** Any segment may be secret here, such as the token of a channel before a file name that no route serves. */
function showUnknown(segments: readonly string[], words?: ReadonlySet<string>): string[] {
  let letters = 0;
  return segments.map((segment) => {
    if (words?.has(segment) || NUMBER.test(segment)) return segment;
    if (!WORD.test(segment) || letters + segment.length > MOST_UNKNOWN_LETTERS) return MASK;
    letters += segment.length;
    return segment;
  });
}

/** @returns the query with encoded names and values, with its possibly secret values masked */
export function showQuery(query: string): string {
  // Names may be percent-encoded, so the decoded text is masked, which is the text that the service reads.
  return [...new URLSearchParams(query)]
    .map(
      ([name, value]) => `${encode(maskLooks(name))}=${isSecretName(name) ? MASK : encode(maskValue(value))}`,
    )
    .join('&');
}

const maskValue = (value: string) => maskLooks(maskSecrets(value));

/** A lone surrogate cannot be encoded in UTF-8. */
const encode = (text: string) =>
  text === MASK ? MASK : encodeURIComponent(text.toWellFormed()).replaceAll('%2C', ',');

function decodeLeniently(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The most characters of one text of an error in a log line. */
const MOST_OF_ERROR = 10_000;
/** The most errors of an aggregate in a log line. */
const MOST_ERRORS = 10;

interface ShownError {
  readonly type: string;
  readonly message: string;
  readonly stack: string;
  readonly [field: string]: unknown;
}

/**
 * An error as a log line shows it. Its message is masked, because it may quote an address or a value of the request.
 */
export function showError(thrown: unknown): ShownError {
  if (!(thrown instanceof Error))
    return { type: typeof thrown, message: maskText(String(thrown)), stack: '' };
  const { name, message, stack = '', cause, ...more } = thrown;
  const fields = Object.entries(more).flatMap(([field, value]) => {
    if (typeof value === 'string') return [[field, maskText(value)]];
    return typeof value === 'number' || typeof value === 'boolean' ? [[field, value]] : [];
  });
  return {
    ...Object.fromEntries(fields),
    type: name,
    message: maskText(message),
    stack: maskText(stack),
    ...(thrown instanceof AggregateError && { errors: thrown.errors.slice(0, MOST_ERRORS).map(showError) }),
    ...(cause !== undefined && { cause: showError(cause) }),
  };
}

const maskText = (text: string) => maskLooks(maskSecrets(text.slice(0, MOST_OF_ERROR)));
