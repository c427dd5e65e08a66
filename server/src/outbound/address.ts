/**
 * Which addresses the service may fetch from: globally reachable unicast addresses. A request to any other address (the
 * machine itself, its neighbours, the metadata service of a cloud) would have the rights of the service. Source:
 * docs/interface §13.4, the special-purpose address registries of IANA (RFC 6890).
 */

import { BlockList, isIP, isIPv4 } from 'node:net';
import { OutboundProblem } from './outbound-problem.ts';

/** All of IPv4 is allowed except these. */
const IPV4_KINDS: Readonly<Record<string, readonly string[]>> = {
  'a loopback address': ['127.0.0.0/8'],
  'a private address': ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  'a link-local address': ['169.254.0.0/16'],
  'an address shared by carriers': ['100.64.0.0/10'],
  'an unspecified address': ['0.0.0.0/8'],
  'a multicast address': ['224.0.0.0/4'],
  'a documentation address': ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
  'a benchmarking address': ['198.18.0.0/15'],
  'a reserved address': ['192.0.0.0/24', '192.88.99.0/24', '240.0.0.0/4'],
  // It looks public, but every machine of that cloud reads its own configuration from it.
  'the address of a cloud service': ['168.63.129.16/32'],
};

/** In IPv6 only 2000::/3 is assigned as global unicast. These ranges are exceptions within it. */
const IPV6_KINDS: Readonly<Record<string, readonly string[]>> = {
  'a loopback address': ['::1/128'],
  'an unspecified address': ['::/128'],
  'an address that stands for an IPv4 address': ['::ffff:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48'],
  'a 6to4 address': ['2002::/16'],
  // Teredo, benchmarking, ORCHID and others reserved for protocols.
  'an address set aside for protocols': ['2001::/23'],
  'a documentation address': ['2001:db8::/32', '3fff::/20'],
  'a private address': ['fc00::/7'],
  'a link-local address': ['fe80::/10', 'fec0::/10'],
  'a multicast address': ['ff00::/8'],
};

const refusedV4 = listKinds(IPV4_KINDS);
const refusedV6 = listKinds(IPV6_KINDS);
const globalV6 = toBlockList(['2000::/3']);

/** Ranges in CIDR notation, or single addresses, that are allowed although they are not public. */
export type AllowedAddresses = (address: string) => boolean;

/**
 * An allowed range does not allow the addresses embedded in it. Allowing `64:ff9b::/96`, to reach IPv4 from a network
 * without it, does not allow 127.0.0.1 behind it.
 * @returns what is wrong with an address, such as `a loopback address`; undefined if it may be used
 */
export function refuseAddress(address: string, allows: AllowedAddresses): string | undefined {
  if (isIP(address) === 0) return 'no address';
  if (address.includes('%')) return 'an address of one network interface';
  if (!allows(address)) return kindOf(address);
  const embedded = embeddedAddress(address);
  return embedded === undefined || allows(embedded) ? undefined : kindOf(embedded);
}

/** @throws Error that names an invalid range; settings are checked at the start */
export function allowAddresses(ranges: readonly string[]): AllowedAddresses {
  // There are two lists, because a single one would treat every IPv4 address as part of ::ffff:0:0/96.
  const isV4 = (range: string) => !range.includes(':');
  const ipv4 = toBlockList(ranges.filter(isV4));
  const ipv6 = toBlockList(ranges.filter((range) => !isV4(range)));
  return (address) => (isIPv4(address) ? ipv4.check(address, 'ipv4') : ipv6.check(address, 'ipv6'));
}

function kindOf(address: string): string | undefined {
  if (isIPv4(address)) return refusedV4.find(({ list }) => list.check(address, 'ipv4'))?.kind;
  const refused = refusedV6.find(({ list }) => list.check(address, 'ipv6'))?.kind;
  return refused ?? (globalV6.check(address, 'ipv6') ? undefined : 'a reserved address');
}

function listKinds(kinds: Readonly<Record<string, readonly string[]>>) {
  return Object.entries(kinds).map(([kind, ranges]) => ({ kind, list: toBlockList(ranges) }));
}

function toBlockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix, ...rest] = range.split('/');
    const [bits, family] = isIPv4(address) ? ([32, 'ipv4'] as const) : ([128, 'ipv6'] as const);
    const length = prefix === undefined ? bits : Number(prefix);
    const isGood =
      isIP(address) !== 0 && rest.length === 0 && /^\d{1,3}$/.test(prefix ?? '0') && length <= bits;
    if (!isGood) throw new Error(`${range} is neither an IP address nor a CIDR range`);
    list.addSubnet(address, length, family);
  }
  return list;
}

/** @returns the IPv4 address that a mapped, NAT64, 6to4 or Teredo address leads to */
function embeddedAddress(address: string): string | undefined {
  if (isIPv4(address)) return undefined;
  const words = ipv6WordsOf(address);
  const [first = 0, second = 0] = words;
  if (first === 0x2002) return toIpv4(second, words[2] ?? 0);
  const [high = 0, low = 0] = words.slice(6);
  if (first === 0x2001 && second === 0) return toIpv4(high ^ 0xffff, low ^ 0xffff);
  const isMapped = words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff;
  const isNat64 = first === 0x64 && second === 0xff9b;
  return isMapped || isNat64 ? toIpv4(high, low) : undefined;
}

const toIpv4 = (high: number, low: number) => [high >> 8, high & 255, low >> 8, low & 255].join('.');

/** @returns the eight numbers of an IPv6 address; the URL parser accepts every notation */
export function ipv6WordsOf(address: string): number[] {
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const read = (part: string) =>
    part.split(':').flatMap((word) => (word === '' ? [] : Number.parseInt(word, 16)));
  const before = read(head);
  if (tail === undefined) return before;
  const after = read(tail);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** Some services do not accept longer URLs. */
export const URL_LENGTH = 4_096;

/**
 * Reads a URL, or that of a redirect relative to `base`. The parser turns every notation of an IPv4 address (`0x7f.1`,
 * `2130706433`, `127。1`) into four numbers and refuses IPv6 zones. So the address that is checked is the address that
 * is used.
 * @throws OutboundProblem url
 */
export function readHttpUrl(text: string, base?: URL): URL {
  const url = text.length > URL_LENGTH ? null : URL.parse(text, base);
  if (url === null || url.hostname === '') throw new OutboundProblem('url', 'The URL is not valid');
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new OutboundProblem('url', 'The URL begins with http:// or https://');
  if (url.username !== '' || url.password !== '')
    throw new OutboundProblem('url', 'A URL holds no user name and no password: they belong in the headers');
  // A trailing dot marks a name as complete. No certificate and hardly any server accepts a name in this form.
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.replace(/\.+$/, '');
  url.hash = '';
  return url;
}

/** @returns what is wrong with a URL; undefined if it is valid */
export function checkHttpUrl(text: string): string | undefined {
  try {
    readHttpUrl(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof OutboundProblem)) throw error;
    return error.message;
  }
}

/** The host in the form that sockets accept: IPv6 without brackets. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');
