import { unescapeText } from '../../products/documents/documents.ts';

/** Reads one value of a body. @returns the position of its end; UNCERTAIN if it is not certainly valid */
export type Reader = (offset: number) => number;

const literalOf = (text: string) => Uint8Array.from(Buffer.from(text));

/** Limits of a text in characters, or of a list in items. */
type Sizes = Readonly<Record<'least' | 'most', number>>;

const text =
  (bytes: Buffer, sizes: Sizes): Reader =>
  (offset) =>
    afterText(bytes, offset, sizes);

export function afterText(bytes: Buffer, offset: number, { least, most }: Sizes): number {
  if (bytes[offset] !== QUOTE) return UNCERTAIN;
  const end = endOfString(bytes, offset + 1);
  // Every character takes at least a byte.
  const longest = end - offset - 1;
  if (longest >= least && longest <= most) return end + 1;
  return longest > most && countCharacters(bytes, offset, end + 1) <= most ? end + 1 : UNCERTAIN;
}

export function decodeText(bytes: Buffer, start: number, end: number): string {
  return unescapeText(bytes.toString('utf8', start + 1, end - 1));
}

function countCharacters(bytes: Buffer, start: number, end: number): number {
  let count = 0;
  for (const _ of decodeText(bytes, start, end)) count += 1;
  return count;
}

const NULL = literalOf('null');

const orNull =
  (bytes: Buffer, reader: Reader): Reader =>
  (offset) => {
    const end = reader(offset);
    if (end >= 0) return end;
    irregularities.count += 1;
    return afterLiteral(bytes, offset, NULL);
  };

const oneOf = (bytes: Buffer, words: readonly string[]): Reader => {
  const literals = words.map((word) => literalOf(JSON.stringify(word)));
  return (offset) => {
    for (const literal of literals) {
      const end = afterLiteral(bytes, offset, literal);
      if (end >= 0) return end;
    }
    return UNCERTAIN;
  };
};

/**
 * Reads an integer with fewer digits than its limits. An integer with as many digits may be valid too, but is
 * uncertain.
 */
const integer =
  (bytes: Buffer, { least, most }: Sizes): Reader =>
  (offset) => {
    const start = least < 0 && bytes[offset] === MINUS ? offset + 1 : offset;
    const end = endOfDigits(bytes, start);
    if (start > offset && bytes[start] === ZERO) irregularities.count += 1;
    const isOne = end > start && 10 ** (end - start) <= most && (bytes[start] !== ZERO || end === start + 1);
    return isOne ? end : UNCERTAIN;
  };

interface Items extends Sizes {
  readonly item: Reader;
}

export const readList =
  (bytes: Buffer, items: Items): Reader =>
  (offset) =>
    bytes[offset] === OPENS_LIST ? afterItems(bytes, offset, items) : UNCERTAIN;

function afterItems(bytes: Buffer, offset: number, { item, least, most }: Items): number {
  let next = skipSpace(bytes, offset + 1);
  if (bytes[next] === CLOSES_LIST) return least === 0 ? next + 1 : UNCERTAIN;
  for (let count = 1; count <= most; count += 1) {
    next = skipSpace(bytes, item(next));
    if (bytes[next] !== COMMA) return bytes[next] === CLOSES_LIST ? next + 1 : UNCERTAIN;
    next = skipSpace(bytes, next + 1);
  }
  return UNCERTAIN;
}

interface Member {
  readonly bit: number;
  readonly name: Uint8Array;
  readonly reader: Reader;
  /** All members of the object. */
  readonly all: readonly Member[];
  /**
   * The member that last followed this one, and the bytes up to its value, because a client writes its objects in one
   * way.
   */
  next: Member | undefined;
  lead: CountedSpan;
}

/** An object of these members, each at most once, in any order. */
export function readObject(
  bytes: Buffer,
  readers: Readonly<Record<string, Reader>>,
  required: readonly string[],
): Reader {
  const all: Member[] = [];
  const add = (name: string, bit: number, reader: Reader): Member => ({
    bit,
    name: literalOf(JSON.stringify(name)),
    reader,
    all,
    next: undefined,
    lead: NO_SPAN,
  });
  /** A member that precedes the first one. */
  const first = add('', 0, () => UNCERTAIN);
  for (const [name, reader] of Object.entries(readers)) all.push(add(name, 1 << all.length, reader));
  const needed = required.reduce((bits, name) => bits | (1 << Object.keys(readers).indexOf(name)), 0);
  return (offset) =>
    bytes[offset] === OPENS_OBJECT ? afterMembers(bytes, offset, { first, needed }) : UNCERTAIN;
}

function afterMembers(bytes: Buffer, offset: number, { first, needed }: { first: Member; needed: number }) {
  let presentBits = 0;
  let next = offset;
  let last = first;
  do {
    const value = findNext(bytes, next, last);
    if (value < 0) return UNCERTAIN;
    last = last.next as Member;
    if ((presentBits & last.bit) !== 0) return UNCERTAIN;
    presentBits |= last.bit;
    next = skipSpace(bytes, last.reader(value));
  } while (bytes[next] === COMMA);
  return bytes[next] === CLOSES_OBJECT && (presentBits & needed) === needed ? next + 1 : UNCERTAIN;
}

/** Finds the member after `last`, and notes that it follows. @returns the position of its value */
function findNext(bytes: Buffer, offset: number, last: Member): number {
  const same = last.next === undefined ? UNCERTAIN : afterSameAgain(bytes, offset, last.lead);
  if (same >= 0) return same;
  const before = irregularities.count;
  const start = skipSpace(bytes, offset + 1);
  const next = last.all.find(({ name }) => afterLiteral(bytes, start, name) >= 0);
  if (next === undefined) return UNCERTAIN;
  const value = afterColon(bytes, start + next.name.length);
  if (value < 0) return UNCERTAIN;
  if (next.bit < last.bit) irregularities.count += 1;
  last.next = next;
  last.lead = { start: offset, length: value - offset, irregularities: irregularities.count - before };
  return value;
}

/** The part of JSON Schema that schemas of products use; `additionalProperties` is always false there. */
interface ProductSchema {
  readonly type: string | readonly string[];
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: ProductSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, ProductSchema>>;
  readonly required?: readonly string[];
}

/** Readers that also note values, in place of the default readers of a schema. */
type NotingReaders = ReadonlyMap<object, Reader>;

/** @returns a reader of values that the schema certainly allows; the validator uses the same schema */
export function readerOf(bytes: Buffer, schema: object, noting: NotingReaders): Reader {
  const reader = noting.get(schema) ?? createReader(bytes, schema as ProductSchema, noting);
  return (schema as ProductSchema).type.includes('null') ? orNull(bytes, reader) : reader;
}

function createReader(bytes: Buffer, schema: ProductSchema, noting: NotingReaders): Reader {
  const { items, properties = {}, required = [], minItems = 0, maxItems = 0 } = schema;
  switch ([schema.type].flat()[0]) {
    case 'string':
      if (schema.enum) return oneOf(bytes, schema.enum);
      return schema.type.includes('integer') ? textOrInteger(bytes, schema) : text(bytes, sizesOf(schema));
    case 'integer':
      return integer(bytes, { least: schema.minimum ?? 0, most: schema.maximum ?? 0 });
    case 'array':
      return readList(bytes, {
        item: readerOf(bytes, items as ProductSchema, noting),
        least: minItems,
        most: maxItems,
      });
    case 'object': {
      const members = Object.entries(properties).map(([name, property]) => [
        name,
        readerOf(bytes, property, noting),
      ]);
      return readObject(bytes, Object.fromEntries(members) as Record<string, Reader>, required);
    }
    default:
      throw new Error(`no reader for the type ${schema.type}`);
  }
}

function textOrInteger(bytes: Buffer, schema: ProductSchema): Reader {
  const { minimum: least = 0, maximum: most = 0 } = schema;
  const [readText, readInteger] = [text(bytes, sizesOf(schema)), integer(bytes, { least, most })];
  return (offset) => (bytes[offset] === QUOTE ? readText(offset) : readInteger(offset));
}

export function sizesOf(schema: object): Sizes {
  const { minLength = 0, maxLength = 0 } = schema as ProductSchema;
  return { least: minLength, most: maxLength };
}

/**
 * Reads JSON from its bytes without building anything. Each function takes a start position and returns the end
 * position. It returns UNCERTAIN if the bytes are not as expected or not certain; then the validator checks the whole
 * body. UNCERTAIN is a position before the bytes, so reading there fails too.
 */
export const UNCERTAIN = -1;

/**
 * Counts the places that JSON.stringify would write differently: white space, other escapes, another order of
 * members, null for an absent member. A body is read without a pause, so one counter suffices.
 */
export const irregularities = { count: 0 };

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const [OPENS_LIST, CLOSES_LIST] = [0x5b, 0x5d] as const;
export const [OPENS_OBJECT, CLOSES_OBJECT] = [0x7b, 0x7d] as const;
const SPACE = 0x20;
const COLON = 0x3a;
export const [MINUS, POINT, ZERO] = [0x2d, 0x2e, 0x30] as const;
const NINE = 0x39;
export const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const SLASH = 0x2f;
/** The first byte of `null`. */
export const LOWER_N = 0x6e;

/** @returns the position of the next non-space byte */
export function skipSpace(bytes: Uint8Array, offset: number): number {
  if ((bytes[offset] as number) > SPACE) return offset;
  irregularities.count += 1;
  return (bytes[offset + 1] as number) > SPACE && bytes[offset] === SPACE
    ? offset + 1
    : skipMoreSpace(bytes, offset);
}

function skipMoreSpace(bytes: Uint8Array, offset: number): number {
  let next = offset;
  while (isSpace(bytes[next])) next += 1;
  return next;
}

const isSpace = (byte: number | undefined) =>
  byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** @returns the position of the value after a name that ends here */
function afterColon(bytes: Uint8Array, offset: number): number {
  const colon = skipSpace(bytes, offset);
  return bytes[colon] === COLON ? skipSpace(bytes, colon + 1) : UNCERTAIN;
}

export function endOfDigits(bytes: Uint8Array, offset: number): number {
  let next = offset;
  while ((bytes[next] as number) >= ZERO && (bytes[next] as number) <= NINE) next += 1;
  return next;
}

function afterLiteral(bytes: Uint8Array, offset: number, literal: Uint8Array): number {
  for (let index = 0; index < literal.length; index += 1) {
    if (bytes[offset + index] !== literal[index]) return UNCERTAIN;
  }
  return offset + literal.length;
}

/** A span that was read before and whose bytes may repeat. */
export type Span = Readonly<Record<'start' | 'length', number>>;

/** A span whose irregularities count each time it repeats. */
export interface CountedSpan extends Span {
  readonly irregularities: number;
}

export const NO_SPAN: CountedSpan = { start: 0, length: 0, irregularities: 0 };

export function afterSame(bytes: Uint8Array, offset: number, { start, length }: Span): number {
  for (let index = 0; index < length; index += 1) {
    if (bytes[offset + index] !== bytes[start + index]) return UNCERTAIN;
  }
  return offset + length;
}

export function afterSameAgain(bytes: Uint8Array, offset: number, span: CountedSpan): number {
  const end = afterSame(bytes, offset, span);
  if (end >= 0) irregularities.count += span.irregularities;
  return end;
}

/**
 * @param offset the position after the opening quote
 * @returns the position of the closing quote; UNCERTAIN for an invalid string, or for a string that no store accepts
 */
function endOfString(bytes: Uint8Array, offset: number): number {
  let next = offset;
  for (;;) {
    // The byte after the end reads as 0, which is a control character; so does the byte at UNCERTAIN.
    const byte = (bytes[next] as number) | 0;
    if (byte === QUOTE) return next;
    if (byte < SPACE) return UNCERTAIN;
    next = byte === BACKSLASH ? afterEscape(bytes, next + 1) : next + 1;
  }
}

export function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  for (let offset = start; offset < end; offset += 1) if (bytes[offset] === BACKSLASH) return true;
  return false;
}

/** 1 for the characters that may follow a backslash, except `u`. */
const SHORT_ESCAPES = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) SHORT_ESCAPES[byte] = 1;

function afterEscape(bytes: Uint8Array, offset: number): number {
  const byte = bytes[offset] as number;
  if (byte === LOWER_U || byte === SLASH) irregularities.count += 1;
  if (byte === LOWER_U) return afterUnit(bytes, offset + 1);
  return SHORT_ESCAPES[byte] === 1 ? offset + 1 : UNCERTAIN;
}

/** NUL and lone surrogates are not text. Source: docs/interface §2.3 rule 9. */
function afterUnit(bytes: Uint8Array, offset: number): number {
  const unit = readUnit(bytes, offset);
  if (unit <= 0) return UNCERTAIN;
  if ((unit & 0xf800) !== 0xd800) return offset + 4;
  const isPair = unit < 0xdc00 && bytes[offset + 4] === BACKSLASH && bytes[offset + 5] === LOWER_U;
  return isPair && (readUnit(bytes, offset + 6) & ~0x3ff) === 0xdc00 ? offset + 10 : UNCERTAIN;
}

/** The value of each hexadecimal digit, by its byte; -1 makes a whole unit negative. */
const HEX_DIGITS = Int8Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte);
  return /^[\da-f]$/i.test(char) ? Number.parseInt(char, 16) : -1;
});

function readUnit(bytes: Uint8Array, offset: number): number {
  const digit = (index: number) => HEX_DIGITS[bytes[offset + index] ?? 0] as number;
  return (digit(0) << 12) | (digit(1) << 8) | (digit(2) << 4) | digit(3);
}
