import { CODE_DIGITS } from '../../ontology/ontology.ts';
import { afterSame, COMMA, endOfDigits, MINUS, POINT, QUOTE, type Span, UNSURE, ZERO } from './json-bytes.ts';

const PLUS = 0x2b;
const SPACE = 0x20;
/** A letter outside ASCII, such as a no-break space. */
const BEYOND_ASCII = 0x80;

/** Numbers of an attribute that say nothing new. */
export interface KnownMeasure {
  /** What stands behind the number: the unit, if any, and the closing quote. */
  readonly unit: Span;
  /** undefined: whole numbers only, for others tell which sign is the decimal one. */
  readonly decimal: number | undefined;
}

/**
 * A string that is a number beyond doubt, with this unit and its closing quote. Anything else is UNSURE and may be one all
 * the same, e.g. with an escape.
 * @param at where the opening quote is
 */
export function endOfMeasure(bytes: Uint8Array, at: number, { unit, decimal }: KnownMeasure): number {
  const start = afterSign(bytes, at + 1);
  const whole = endOfDigits(bytes, start);
  if (whole === start || (bytes[start] === ZERO && whole > start + 1)) return UNSURE;
  if (decimal === undefined || bytes[whole] !== decimal)
    return whole - start < CODE_DIGITS ? afterSame(bytes, whole, unit) : UNSURE;
  const end = endOfDigits(bytes, whole + 1);
  return end > whole + 1 && end - start - 1 < CODE_DIGITS ? afterSame(bytes, end, unit) : UNSURE;
}

const afterSign = (bytes: Uint8Array, at: number) =>
  bytes[at] === PLUS || bytes[at] === MINUS ? at + 1 : at;

/** @returns what stands behind the number of a string that is a measure; undefined when that is not sure */
export function findUnit(bytes: Uint8Array, start: number, end: number): Span | undefined {
  let at = afterSign(bytes, start + 1);
  while (isOfNumber(bytes[at] as number)) at += 1;
  // A space may stand between groups of digits.
  const isClear = bytes[at] === QUOTE || (bytes[at] === SPACE && !isOfNumber(bytes[at + 1] as number));
  return isClear && (bytes[at + 1] as number) < BEYOND_ASCII ? { start: at, length: end - at } : undefined;
}

const NINE = 0x39;
const isOfNumber = (byte: number) => (byte >= ZERO && byte <= NINE) || byte === POINT || byte === COMMA;

const [TRUE, FALSE] = [Buffer.from('"true"'), Buffer.from('"false"')];
/** The bit in which small letters differ from capitals. */
const SMALL = 0x20;

/** @returns whether a string is true or false in any case, without an escape */
export function isTruth(bytes: Uint8Array, start: number, end: number): boolean {
  const word = end - start === TRUE.length ? TRUE : FALSE;
  if (end - start !== word.length) return false;
  for (let index = 0; index < word.length; index += 1) {
    if (((bytes[start + index] as number) | SMALL) !== word[index]) return false;
  }
  return true;
}
