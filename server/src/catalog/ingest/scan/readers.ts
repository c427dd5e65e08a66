import {
  afterColon,
  afterLiteral,
  afterSameAgain,
  CLOSES_LIST,
  CLOSES_OBJECT,
  COMMA,
  type CountedSpan,
  endOfDigits,
  endOfString,
  MINUS,
  NO_SPAN,
  OPENS_LIST,
  OPENS_OBJECT,
  oddities,
  QUOTE,
  skipSpace,
  UNSURE,
  ZERO,
} from './json-bytes.ts';

/** Reads one value of a body. @returns where it ends; UNSURE when it is not certainly valid */
export type Reader = (at: number) => number;

const literalOf = (text: string) => Uint8Array.from(Buffer.from(text));

/** Of a text in characters, of a list in items. */
export interface Sizes {
  readonly least: number;
  readonly most: number;
}

export const text =
  (bytes: Buffer, sizes: Sizes): Reader =>
  (at) =>
    afterText(bytes, at, sizes);

export function afterText(bytes: Buffer, at: number, { least, most }: Sizes): number {
  if (bytes[at] !== QUOTE) return UNSURE;
  const end = endOfString(bytes, at + 1);
  // No character takes less than a byte.
  const longest = end - at - 1;
  if (longest >= least && longest <= most) return end + 1;
  return longest > most && countCharacters(bytes, at, end + 1) <= most ? end + 1 : UNSURE;
}

export function decodeText(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start + 1, end - 1);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}

function countCharacters(bytes: Buffer, start: number, end: number): number {
  let count = 0;
  for (const _ of decodeText(bytes, start, end)) count += 1;
  return count;
}

const NULL = literalOf('null');

export const orNull =
  (bytes: Buffer, reader: Reader): Reader =>
  (at) => {
    const end = reader(at);
    if (end >= 0) return end;
    oddities.count += 1;
    return afterLiteral(bytes, at, NULL);
  };

export const oneOf = (bytes: Buffer, words: readonly string[]): Reader => {
  const literals = words.map((word) => literalOf(JSON.stringify(word)));
  return (at) => {
    for (const literal of literals) {
      const end = afterLiteral(bytes, at, literal);
      if (end >= 0) return end;
    }
    return UNSURE;
  };
};

/** A whole number with fewer digits than these; one with as many may be valid too. */
export const integer =
  (bytes: Buffer, { least, most }: Sizes): Reader =>
  (at) => {
    const start = least < 0 && bytes[at] === MINUS ? at + 1 : at;
    const end = endOfDigits(bytes, start);
    if (start > at && bytes[start] === ZERO) oddities.count += 1;
    const isOne = end > start && 10 ** (end - start) <= most && (bytes[start] !== ZERO || end === start + 1);
    return isOne ? end : UNSURE;
  };

interface Items extends Sizes {
  readonly item: Reader;
}

export const list = (bytes: Buffer, items: Items): Reader => {
  return (at) => (bytes[at] === OPENS_LIST ? afterItems(bytes, at, items) : UNSURE);
};

function afterItems(bytes: Buffer, at: number, { item, least, most }: Items): number {
  let next = skipSpace(bytes, at + 1);
  if (bytes[next] === CLOSES_LIST) return least === 0 ? next + 1 : UNSURE;
  for (let count = 1; count <= most; count += 1) {
    next = skipSpace(bytes, item(next));
    if (bytes[next] !== COMMA) return bytes[next] === CLOSES_LIST ? next + 1 : UNSURE;
    next = skipSpace(bytes, next + 1);
  }
  return UNSURE;
}

interface Member {
  readonly bit: number;
  readonly name: Uint8Array;
  readonly reader: Reader;
  /** All members of the object. */
  readonly all: readonly Member[];
  /** A client writes its objects in one way: what followed this member last, and the bytes from the comma to its value. */
  next: Member | undefined;
  lead: CountedSpan;
}

/** An object of these members, each at most once, in any order. */
export function object(
  bytes: Buffer,
  readers: Readonly<Record<string, Reader>>,
  required: readonly string[],
): Reader {
  const all: Member[] = [];
  const add = (name: string, bit: number, reader: Reader): Member => {
    return { bit, name: literalOf(JSON.stringify(name)), reader, all, next: undefined, lead: NO_SPAN };
  };
  const first = add('', 0, () => UNSURE);
  for (const [name, reader] of Object.entries(readers)) all.push(add(name, 1 << all.length, reader));
  const wanted = required.reduce((bits, name) => bits | (1 << Object.keys(readers).indexOf(name)), 0);
  return (at) => (bytes[at] === OPENS_OBJECT ? afterMembers(bytes, at, { first, wanted }) : UNSURE);
}

interface Shape {
  /** What is followed by the first member. */
  readonly first: Member;
  readonly wanted: number;
}

function afterMembers(bytes: Buffer, at: number, { first, wanted }: Shape): number {
  let seen = 0;
  let next = at;
  let last = first;
  do {
    const value = findNext(bytes, next, last);
    if (value < 0) return UNSURE;
    last = last.next as Member;
    if ((seen & last.bit) !== 0) return UNSURE;
    seen |= last.bit;
    next = skipSpace(bytes, last.reader(value));
  } while (bytes[next] === COMMA);
  return bytes[next] === CLOSES_OBJECT && (seen & wanted) === wanted ? next + 1 : UNSURE;
}

/** Notes what follows the last member. @returns where its value is */
function findNext(bytes: Buffer, at: number, last: Member): number {
  const same = last.next === undefined ? UNSURE : afterSameAgain(bytes, at, last.lead);
  if (same >= 0) return same;
  const before = oddities.count;
  const start = skipSpace(bytes, at + 1);
  const next = last.all.find(({ name }) => afterLiteral(bytes, start, name) >= 0);
  if (next === undefined) return UNSURE;
  const value = afterColon(bytes, start + next.name.length);
  if (value < 0) return UNSURE;
  if (next.bit < last.bit) oddities.count += 1;
  last.next = next;
  last.lead = { start: at, length: value - at, oddities: oddities.count - before };
  return value;
}
