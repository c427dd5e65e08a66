/** How logs and lists of requests show what a caller sent: nothing in it that may be a key or the token of an address. */

import type { FastifyRequest } from 'fastify';
import { isSecretName, looksSecret, MASK, maskLooks, maskSecrets } from '../../kernel/secret-mask.ts';

/** Characters of a path that a log line shows. */
const MOST_SHOWN = 1_000;
/** Letters of unknown words that an unknown path shows: fewer than it takes to find a key by trying the rest. */
const MOST_UNKNOWN_LETTERS = 20;
const NUMBER = /^\d{1,15}$/;
const WORD = /^[a-z]+(?:[._-][a-z]+)*$/i;

/** How log lines show requests, answers and errors. Source: docs/interface §5.1 rule 9. */
export function createSerializers() {
  const words = new Set<string>();
  return {
    /** The words of a route's pattern may be shown in paths that no route serves. */
    addRoute(pattern: string): void {
      for (const segment of pattern.split('/')) if (!/^[:*]/.test(segment)) words.add(segment);
    },
    serializers: {
      // Without the query, which may contain ?apiKey=.
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

/** @returns the path, without the segments that may be secret */
export function showPath(
  { originalUrl: url, routeOptions }: FastifyRequest,
  words?: ReadonlySet<string>,
): string {
  const { url: pattern, config } = (routeOptions ?? {}) as Partial<FastifyRequest['routeOptions']>;
  if (config?.hasSecretPath && pattern !== undefined) return pattern;
  // The sender of a request without a route needs no key, so only the beginning of a long path is read.
  const [path = ''] = url.slice(0, MOST_SHOWN).split('?', 1);
  const segments = path.split('/');
  // A secret in base64 may contain slashes, so the path is also read as a whole.
  const shown =
    pattern === undefined
      ? showUnknown(segments, words).join('/')
      : maskLooks(segments.map(showSegment).join('/'));
  return shown + (path.length === MOST_SHOWN ? '…' : '');
}

const showSegment = (segment: string) => (looksSecret(decodeLeniently(segment)) ? MASK : segment);

/** Anything may be a secret here, such as the token of a channel with a file name that no route takes. */
function showUnknown(segments: readonly string[], words?: ReadonlySet<string>): string[] {
  let letters = 0;
  return segments.map((segment) => {
    if (words?.has(segment) || NUMBER.test(segment)) return segment;
    if (!WORD.test(segment) || letters + segment.length > MOST_UNKNOWN_LETTERS) return MASK;
    letters += segment.length;
    return segment;
  });
}

/** @returns the query with encoded names and values, without those that may be secret */
export function showQuery(query: string): string {
  // Names may be percent-encoded. The text that the service reads has to be masked, not the text as sent.
  return [...new URLSearchParams(query)]
    .map(
      ([name, value]) => `${encode(maskLooks(name))}=${isSecretName(name) ? MASK : encode(maskValue(value))}`,
    )
    .join('&');
}

const maskValue = (value: string) => maskLooks(maskSecrets(value));

/** A lone surrogate cannot be written as UTF-8. */
const encode = (text: string) =>
  text === MASK ? MASK : encodeURIComponent(text.toWellFormed()).replaceAll('%2C', ',');

function decodeLeniently(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Characters of one text of an error that a log line shows. */
const MOST_OF_ERROR = 10_000;
/** Errors of one aggregate that a log line shows. */
const MOST_ERRORS = 10;

interface ShownError {
  readonly type: string;
  readonly message: string;
  readonly stack: string;
  readonly [field: string]: unknown;
}

/** An error as a log line shows it. A message may quote an address or a value that was sent. */
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
