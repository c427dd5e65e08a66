import { OutboundProblem } from './outbound-problem.ts';

/** Longer ones are not served everywhere. */
export const URL_LENGTH = 4_096;

/**
 * Reads an address, or that of a redirect relative to `base`. The parser turns every spelling of an IPv4 address
 * (`0x7f.1`, `2130706433`, `127。1`) into four numbers and refuses IPv6 zones, so what is checked is what is reached.
 * @throws OutboundProblem url
 */
export function readHttpUrl(text: string, base?: URL): URL {
  const url = text.length > URL_LENGTH ? null : URL.parse(text, base);
  if (url === null || url.hostname === '') throw new OutboundProblem('url', 'The URL is not valid');
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new OutboundProblem('url', 'The URL begins with http:// or https://');
  if (url.username !== '' || url.password !== '')
    throw new OutboundProblem('url', 'A URL holds no user name and no password: they belong in the headers');
  // A dot at the end says that the name is complete. No certificate and hardly any server knows it in that form.
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.replace(/\.+$/, '');
  url.hash = '';
  return url;
}

/** @returns what is wrong with a URL; undefined when nothing is */
export function checkHttpUrl(text: string): string | undefined {
  try {
    readHttpUrl(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof OutboundProblem)) throw error;
    return error.message;
  }
}

/** The host as sockets take it: IPv6 without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}
