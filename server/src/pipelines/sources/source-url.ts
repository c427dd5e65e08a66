import { SourceProblem } from './source.ts';

/** Longer ones are not served everywhere. */
export const URL_LENGTH = 4_096;

/**
 * Reads the address of a source, or of a redirect relative to `base`. The parser turns every spelling of an IPv4 address
 * (`0x7f.1`, `2130706433`, `127。1`) into four numbers and refuses IPv6 zones, so what is checked is what is reached.
 * @throws SourceProblem url
 */
export function readSourceUrl(text: string, base?: URL): URL {
  const url = text.length > URL_LENGTH ? null : URL.parse(text, base);
  if (url === null || url.hostname === '')
    throw new SourceProblem('url', 'The URL of the source is not valid');
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new SourceProblem('url', 'The URL of a source begins with http:// or https://');
  if (url.username !== '' || url.password !== '')
    throw new SourceProblem('url', 'A URL holds no user name and no password: they belong in the headers');
  // A dot at the end says that the name is complete. No certificate and hardly any server knows it in that form.
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.replace(/\.+$/, '');
  url.hash = '';
  return url;
}

/** @returns what is wrong with the URL of a source; undefined when nothing is */
export function checkSourceUrl(text: string): string | undefined {
  try {
    readSourceUrl(text);
    return undefined;
  } catch (error) {
    return (error as SourceProblem).message;
  }
}

/** The host as sockets take it: IPv6 without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

const HEADERS = 32;
const HEADER_LENGTH = 8_192;

/** What the request itself decides. A host header of one's own would reach another site on the checked address. */
const OWN_HEADERS = new Set([
  ...['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'te', 'trailer', 'upgrade'],
  ...['expect', 'accept-encoding', 'range', 'if-range', 'if-match', 'if-none-match', 'if-modified-since'],
  ...['if-unmodified-since', 'proxy-authorization', 'proxy-connection'],
]);

/** @returns what is wrong with the headers of a source, without a value; undefined when nothing is */
export function checkSourceHeaders(headers: Readonly<Record<string, string>>): string | undefined {
  const names = Object.keys(headers);
  if (names.length > HEADERS) return `A source has at most ${HEADERS} headers`;
  const seen = new Set(names.map((name) => name.toLowerCase()));
  if (seen.size < names.length) return 'Two headers have the same name';
  return names.map((name) => checkHeader(name, headers[name] ?? '')).find((problem) => problem !== undefined);
}

function checkHeader(name: string, value: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name))
    return `${JSON.stringify(name.slice(0, 100))} is no header name`;
  if (OWN_HEADERS.has(name.toLowerCase())) return `The header ${name} is set by the service`;
  const isGood = value.length <= HEADER_LENGTH && /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
  return isGood
    ? undefined
    : `The value of the header ${name} is too long or holds characters that no header can`;
}
