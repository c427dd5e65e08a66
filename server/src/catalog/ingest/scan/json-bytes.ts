/**
 * JSON read over its bytes, without making anything of it. Each function takes where something begins and returns where it
 * ends, or UNSURE: not what was looked for, or not certain. Whoever gets UNSURE leaves the whole body to the validator. It is
 * a place before the bytes, so that nothing is found there either.
 */
export const UNSURE = -1;

/**
 * Counts what JSON.stringify writes otherwise: white space, other escapes, members in another order, null for nothing. A body
 * is read without a pause, so what is counted meanwhile is its own.
 */
export const oddities = { count: 0 };

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
/** What `null` begins with. */
export const LOWER_N = 0x6e;

/** @returns where the next thing begins that is no white space */
export function skipSpace(bytes: Uint8Array, at: number): number {
  if ((bytes[at] as number) > SPACE) return at;
  oddities.count += 1;
  return (bytes[at + 1] as number) > SPACE && bytes[at] === SPACE ? at + 1 : skipMoreSpace(bytes, at);
}

function skipMoreSpace(bytes: Uint8Array, at: number): number {
  let next = at;
  while (isSpace(bytes[next])) next += 1;
  return next;
}

const isSpace = (byte: number | undefined) =>
  byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** @returns where the value begins whose name ends here */
export function afterColon(bytes: Uint8Array, at: number): number {
  const colon = skipSpace(bytes, at);
  return bytes[colon] === COLON ? skipSpace(bytes, colon + 1) : UNSURE;
}

export function endOfDigits(bytes: Uint8Array, at: number): number {
  let next = at;
  while ((bytes[next] as number) >= ZERO && (bytes[next] as number) <= NINE) next += 1;
  return next;
}

export function afterLiteral(bytes: Uint8Array, at: number, literal: Uint8Array): number {
  for (let index = 0; index < literal.length; index += 1) {
    if (bytes[at + index] !== literal[index]) return UNSURE;
  }
  return at + literal.length;
}

/** A part of the same bytes that was read before and may come again. */
export interface Span {
  readonly start: number;
  readonly length: number;
}

/** A part whose oddities count each time. */
export interface CountedSpan extends Span {
  readonly oddities: number;
}

export const NO_SPAN: CountedSpan = { start: 0, length: 0, oddities: 0 };

export function afterSame(bytes: Uint8Array, at: number, { start, length }: Span): number {
  for (let index = 0; index < length; index += 1) {
    if (bytes[at + index] !== bytes[start + index]) return UNSURE;
  }
  return at + length;
}

export function afterSameAgain(bytes: Uint8Array, at: number, span: CountedSpan): number {
  const end = afterSame(bytes, at, span);
  if (end >= 0) oddities.count += span.oddities;
  return end;
}

/**
 * @param at after the opening quote
 * @returns where the closing quote is; UNSURE for what is no string, or one that no store keeps
 */
export function endOfString(bytes: Uint8Array, at: number): number {
  let next = at;
  for (;;) {
    // Beyond the end it is 0, a control character; so it is at UNSURE.
    const byte = (bytes[next] as number) | 0;
    if (byte === QUOTE) return next;
    if (byte < SPACE) return UNSURE;
    next = byte === BACKSLASH ? afterEscape(bytes, next + 1) : next + 1;
  }
}

export function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (bytes[at] === BACKSLASH) return true;
  return false;
}

/** 1 for what stands for itself or for one control character behind a backslash. */
const SHORT_ESCAPES = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) SHORT_ESCAPES[byte] = 1;

function afterEscape(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] as number;
  if (byte === LOWER_U || byte === SLASH) oddities.count += 1;
  if (byte === LOWER_U) return afterUnit(bytes, at + 1);
  return SHORT_ESCAPES[byte] === 1 ? at + 1 : UNSURE;
}

/** NUL and surrogates that are no pair are no text. Source: docs/interface.md §2.3 rule 9. */
function afterUnit(bytes: Uint8Array, at: number): number {
  const unit = readUnit(bytes, at);
  if (unit <= 0) return UNSURE;
  if ((unit & 0xf800) !== 0xd800) return at + 4;
  const isPair = unit < 0xdc00 && bytes[at + 4] === BACKSLASH && bytes[at + 5] === LOWER_U;
  return isPair && (readUnit(bytes, at + 6) & ~0x3ff) === 0xdc00 ? at + 10 : UNSURE;
}

/** Digits by their byte; -1 makes a whole unit negative. */
const HEX_DIGITS = Int8Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte);
  return /^[\da-f]$/i.test(char) ? Number.parseInt(char, 16) : -1;
});

function readUnit(bytes: Uint8Array, at: number): number {
  const digit = (place: number) => HEX_DIGITS[bytes[at + place] ?? 0] as number;
  return (digit(0) << 12) | (digit(1) << 8) | (digit(2) << 4) | digit(3);
}
