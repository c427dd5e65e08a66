import { type Static, Type } from 'typebox';
import { checkHttpUrl, readHttpUrl, URL_LENGTH } from '../../outbound/outbound.ts';
import { openHttpSource } from './http-source.ts';
import { checkSourceHeaders } from './source-headers.ts';
import { defineSource } from './source-record.ts';

/** What answers show in place of the value of a header. */
export const MASK = '***';

const url = Type.String({
  minLength: 1,
  maxLength: URL_LENGTH,
  'x-label': 'URL',
  description: 'http:// or https://, without credentials',
});
const headers = Type.Record(Type.String(), Type.String({ maxLength: 8_192 }), {
  maxProperties: 32,
  description:
    'sent with the request, dropped on a redirect to another origin. Answers show *** in place of each value; ***, sent back, keeps the value as long as the origin of the URL stays',
});

export const http = defineSource({
  type: 'http',
  title: 'HttpSource',
  label: 'A URL that is fetched',
  description: 'A file fetched with one GET',
  options: { url, headers: Type.Optional(headers) },
  check: ({ url: sent, headers: own = {} }) => ({
    url: checkHttpUrl(sent),
    headers: checkSourceHeaders(own),
  }),
  open: (source, run, settings) => openHttpSource(source, settings, run),
  /** The query of a URL may be secret. */
  describe: ({ url: sent }) => sent.split(/[?#]/, 1)[0] ?? '',
  secrets: {
    mask: (source) =>
      source.headers === undefined ? source : { ...source, headers: maskAll(source.headers) },
    unmask: unmaskHeaders,
  },
});

type Headers = Static<typeof headers>;
interface Sent {
  type: 'http';
  url: string;
  headers?: Headers;
}

const maskAll = (given: Headers): Headers =>
  Object.fromEntries(Object.keys(given).map((name) => [name, MASK]));

/**
 * Fills in the values that a definition, read and sent back, has masked.
 * @returns undefined when there is no such value, or the URL has another origin now: whoever may change the URL but not
 * read the headers could have them sent to a server of their own
 */
function unmaskHeaders(sent: Sent, stored: Sent | undefined): Sent | undefined {
  if (sent.headers === undefined) return sent;
  const known = keptHeaders(sent, stored);
  const filled = Object.entries(sent.headers).map(
    ([name, value]) => [name, value === MASK ? known.get(name.toLowerCase()) : value] as const,
  );
  if (filled.some(([, value]) => value === undefined)) return undefined;
  return { ...sent, headers: Object.fromEntries(filled) as Headers };
}

function keptHeaders(sent: Sent, stored: Sent | undefined): Map<string, string> {
  if (stored === undefined || checkHttpUrl(sent.url) !== undefined) return new Map();
  const isSameOrigin = readHttpUrl(sent.url).origin === readHttpUrl(stored.url).origin;
  if (!isSameOrigin) return new Map();
  return new Map(Object.entries(stored.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
}
