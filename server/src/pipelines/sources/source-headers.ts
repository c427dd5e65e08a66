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
