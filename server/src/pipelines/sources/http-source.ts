import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { Type } from 'typebox';
import {
  announcedSize,
  checkHttpUrl,
  type Outbound,
  readHttpUrl,
  readResponse,
  sendPinned,
  URL_LENGTH,
} from '../../outbound/outbound.ts';
import { ACCEPT_ENCODING, boundBytes, tooLarge, undoEncodings } from './byte-streams.ts';
import {
  defineSource,
  type OpenSettings,
  openOrClose,
  outboundOf,
  readCharset,
  type SourceFile,
  SourceProblem,
  type SourceStamp,
} from './source.ts';

const HEADER_LENGTH = 8_192;

export const http = defineSource({
  type: 'http',
  title: 'HttpSource',
  label: 'A URL that is fetched',
  description: 'A file fetched with one GET',
  options: {
    url: Type.String({
      minLength: 1,
      maxLength: URL_LENGTH,
      'x-label': 'URL',
      description: 'http:// or https://, without credentials',
    }),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: HEADER_LENGTH }), {
        maxProperties: 32,
        description:
          'sent with the request, and dropped on a redirect to another origin. Answers show *** in place of each value; a *** that is sent back keeps the value as long as the origin of the URL stays the same',
      }),
    ),
  },
  check: ({ url, headers = {} }) => ({
    url: checkHttpUrl(url),
    headers: checkSourceHeaders(headers),
  }),
  /**
   * Sends one GET, and follows redirects. Reading the file also throws, if the file is too large, too slow or
   * truncated.
   */
  async open(source, { last }, settings) {
    const fetching: Fetching = { last, settings, via: outboundOf(settings) };
    const { response, url } = await follow(source, fetching);
    const stop = () => void response.destroy();
    return openOrClose(stop, () => {
      if (isUnchanged(response, last)) return undefined;
      if (response.statusCode !== 200) throw describeStatus(response, url);
      return { files: [describeFile(response, url, fetching)], stamp: stampOf(response) };
    });
  },
  /** The query of a URL may be secret. */
  describe: ({ url }) => url.split(/[?#]/, 1)[0] ?? '',
  secrets: {
    members: ['headers'],
    sentTo: ({ url }) => (checkHttpUrl(url) === undefined ? readHttpUrl(url).origin : undefined),
  },
});

interface Fetching {
  readonly last: SourceStamp | undefined;
  readonly settings: OpenSettings;
  readonly via: Outbound;
}

const REDIRECTS = 5;
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);

/** Each redirect is read, resolved and checked like the first address. */
async function follow(
  source: { readonly url: string; readonly headers?: Readonly<Record<string, string>> },
  { settings, via, last }: Fetching,
) {
  let url = readHttpUrl(source.url);
  let own = source.headers ?? {};
  // Node's own error would come too late, and would not name the header.
  const problem = checkSourceHeaders(own);
  if (problem !== undefined) throw new SourceProblem('url', problem);
  for (let redirects = 0; redirects <= REDIRECTS; redirects++) {
    const sent = Object.entries(own).map(([name, value]) => [name.toLowerCase(), value]);
    const headers = {
      'user-agent': settings.userAgent,
      accept: '*/*',
      'accept-encoding': ACCEPT_ENCODING,
      ...(last?.etag !== undefined && { 'if-none-match': last.etag }),
      ...(last?.lastModified !== undefined && { 'if-modified-since': last.lastModified }),
      ...Object.fromEntries(sent),
    };
    const response = await sendPinned(url, { headers, ...via });
    if (!REDIRECT_STATUSES.has(response.statusCode ?? 0)) return { response, url };
    response.destroy();
    const next = readRedirect(response, url);
    // The headers may be credentials. Once dropped, they stay dropped, wherever the next redirect leads.
    if (next.origin !== url.origin) own = {};
    url = next;
  }
  throw new SourceProblem('redirect', `The source redirects more than ${REDIRECTS} times`);
}

function readRedirect(response: IncomingMessage, from: URL): URL {
  const location = response.headers.location ?? '';
  const to = location === '' ? undefined : URL.parse(location, from);
  if (!to) throw new SourceProblem('redirect', `${from.host} redirects without a valid address`);
  if (from.protocol === 'https:' && to.protocol === 'http:')
    throw new SourceProblem('redirect', `${from.host} redirects from https to http, which is not followed`);
  return readHttpUrl(location, from);
}

/** Some servers ignore the conditions of a request, but send the same ETag again. */
function isUnchanged(response: IncomingMessage, last: SourceStamp | undefined): boolean {
  if (last?.etag === undefined && last?.lastModified === undefined) return false;
  const isSame = last.etag !== undefined && response.headers.etag === last.etag;
  return response.statusCode === 304 || (response.statusCode === 200 && isSame);
}

function describeStatus({ statusCode = 0 }: IncomingMessage, url: URL): SourceProblem {
  const name = STATUS_CODES[statusCode];
  const answered = `${url.host} answered ${statusCode}${name === undefined ? '' : ` ${name}`}`;
  const isRefused = statusCode === 401 || statusCode === 403;
  const hint = isRefused ? ': it does not accept the headers of the source' : '; the service needs 200';
  return new SourceProblem('status', answered + hint);
}

/** @throws SourceProblem too_large before the file is read; reading throws it too */
function describeFile(response: IncomingMessage, url: URL, { settings, via }: Fetching): SourceFile {
  const { maxPackedBytes, maxUnpackedBytes } = settings;
  const { 'content-encoding': encoding, 'content-type': contentType } = response.headers;
  const announced = announcedSize(response);
  if ((announced ?? 0) > maxPackedBytes) throw tooLarge('The file', maxPackedBytes);
  const packed = boundBytes(readResponse(response, { url, ...via }), maxPackedBytes, 'The file');
  const name = url.pathname.split('/').findLast((part) => part !== '') ?? url.hostname;
  return {
    name: name.slice(0, 100),
    charset: readCharset(contentType),
    sizeBytes: encoding === undefined ? announced : undefined,
    bytes: undoEncodings(packed, encoding, maxUnpackedBytes),
  };
}

/** Takes the headers that are sent back unchanged with the next request. An unreasonable header is dropped. */
function stampOf({ headers }: IncomingMessage): SourceStamp | undefined {
  const isSensible = (text: string | undefined) =>
    text !== undefined && /^[\x21-\x7e][\x20-\x7e]{0,1000}$/.test(text);
  const etag = isSensible(headers.etag) ? headers.etag : undefined;
  const lastModified = isSensible(headers['last-modified']) ? headers['last-modified'] : undefined;
  if (etag === undefined && lastModified === undefined) return undefined;
  return { ...(etag !== undefined && { etag }), ...(lastModified !== undefined && { lastModified }) };
}

/** Headers that the request itself sets. A custom host header would reach another site on the checked address. */
const OWN_HEADERS = new Set([
  ...['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'te', 'trailer', 'upgrade'],
  ...['expect', 'accept-encoding', 'range', 'if-range', 'if-match', 'if-none-match', 'if-modified-since'],
  ...['if-unmodified-since', 'proxy-authorization', 'proxy-connection'],
]);

/** @returns the problem of a source's headers, without a value; undefined if there is none */
function checkSourceHeaders(headers: Readonly<Record<string, string>>): string | undefined {
  const names = Object.keys(headers);
  const seen = new Set(names.map((name) => name.toLowerCase()));
  if (seen.size < names.length) return 'Two headers have the same name';
  return names.map((name) => checkHeader(name, headers[name] ?? '')).find((problem) => problem !== undefined);
}

function checkHeader(name: string, value: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name))
    return `${JSON.stringify(name.slice(0, 100))} is not a header name`;
  if (OWN_HEADERS.has(name.toLowerCase())) return `The header ${name} is set by the service`;
  if (value.length <= HEADER_LENGTH && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return undefined;
  return `The value of the header ${name} is too long or contains characters that headers do not allow`;
}
