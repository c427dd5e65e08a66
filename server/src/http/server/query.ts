/**
 * Reads the query of an address in linear time, because anyone may send it. A long query is read only when it is used.
 */

type Query = Record<string | symbol, string | string[]>;

/** A query of this length is parsed immediately, for any sender. */
const SHORT_CHARACTERS = 4_096;
/** The parameters that guards need. */
const OF_GUARDS = ['apiKey', 'projectId'] as const;
/** Two values suffice, because a list of two is refused like a longer list. */
const MOST_VALUES = 2;
/**
 * The most characters of a value that are decoded. A longer value is invalid as a key and as a number, whether
 * truncated or not.
 */
const LONGEST_VALUE = 1_024;

/**
 * Reads the query of an address. Of a long query it first reads only the key and the project. The rest is read when any
 * of it is used, which is after its sender was authorised. Parsing 60,000 parameters takes 12 ms, and 64 connections
 * without a key could send such queries one after another.
 */
export function readLazily(text: string): Query {
  if (text.length <= SHORT_CHARACTERS) return readQuery(text);
  const query = readQuery(OF_GUARDS.flatMap((name) => findParts(text, name)).join('&'));
  let isRead = false;
  function readRest(): Query {
    if (!isRead) Object.assign(query, readQuery(text));
    isRead = true;
    return query;
  }
  const find = (name: string | symbol) => (name === 'apiKey' || name === 'projectId' ? query : readRest());
  return new Proxy(query, {
    get: (_, name) => find(name)[name],
    has: (_, name) => name in find(name),
    ownKeys: () => Reflect.ownKeys(readRest()),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(find(name), name),
  });
}

/** @returns the first parts of a query with this name, each truncated */
function findParts(text: string, name: string): string[] {
  const parts: string[] = [];
  for (
    let offset = text.indexOf(name);
    offset >= 0 && parts.length < MOST_VALUES;
    offset = text.indexOf(name, offset + 1)
  ) {
    const sign = text[offset + name.length] ?? '&';
    if ((offset > 0 && text[offset - 1] !== '&') || !'=&'.includes(sign)) continue;
    const end = text.indexOf('&', offset);
    const part = text.slice(offset, end < 0 ? undefined : end);
    parts.push(part.slice(0, name.length + 1 + LONGEST_VALUE));
  }
  return parts;
}

/**
 * Reads the query of an address like a form, and a repeated name as a list. Its sender needs no credentials, so reading
 * it must take linear time. URLSearchParams took 110 ms for 60,000 names without a value, which it reads in quadratic
 * time. It took 240 ms for 20,000 names in invalid UTF-8, because it throws for each. Source: WHATWG URL,
 * "application/x-www-form-urlencoded parsing".
 */
export function readQuery(text: string): Query {
  try {
    return readParts(text, decodeURIComponent);
  } catch {
    return readParts(text, decodeLeniently);
  }
}

function readParts(text: string, decode: (part: string) => string): Query {
  const query: Query = Object.create(null);
  for (const part of text.split('&')) {
    if (part === '') continue;
    const end = part.includes('=') ? part.indexOf('=') : part.length;
    addValue(query, readPart(part.slice(0, end), decode), readPart(part.slice(end + 1), decode));
  }
  return query;
}

function addValue(query: Query, rawName: string, value: string): void {
  const name = readName(rawName);
  const present = query[name];
  if (present === undefined) query[name] = name === rawName ? value : [value];
  else if (Array.isArray(present)) present.push(value);
  else query[name] = [present, value];
}

function readPart(part: string, decode: (part: string) => string): string {
  const spaced = part.includes('+') ? part.replaceAll('+', ' ') : part;
  return spaced.includes('%') ? decode(spaced) : spaced;
}

/** PHP writes a list as `name[]=` or `name[0]=`. */
const readName = (rawName: string) => (rawName.endsWith(']') ? rawName.replace(/\[\d*\]$/, '') : rawName);

/** Invalid UTF-8 becomes U+FFFD, and a text that is not an escape remains unchanged. */
function decodeLeniently(text: string): string {
  const unescaped = text.replace(/%([0-9a-f]{2})/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(unescaped, 'latin1').toString();
}
