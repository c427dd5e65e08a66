import { afterSame, endOfDigits, MINUS, type Span, UNSURE, ZERO } from './json-bytes.ts';

const [PLUS, POINT] = [0x2b, 0x2e] as const;
/** As in the ontology's drafts: more digits are no number beyond doubt. */
const MOST_DIGITS = 15;

/**
 * A string that is a number beyond doubt, with this unit and its closing quote. Anything else is UNSURE and may be one all
 * the same, e.g. with an escape.
 * @param at where the opening quote is
 */
export function endOfMeasure(bytes: Uint8Array, at: number, unit: Span): number {
  const sign = bytes[at + 1];
  const start = sign === PLUS || sign === MINUS ? at + 2 : at + 1;
  const whole = endOfDigits(bytes, start);
  if (whole === start || (bytes[start] === ZERO && whole > start + 1)) return UNSURE;
  if (bytes[whole] !== POINT) return whole - start > MOST_DIGITS ? UNSURE : afterSame(bytes, whole, unit);
  const end = endOfDigits(bytes, whole + 1);
  if (end === whole + 1 || end - start - 1 > MOST_DIGITS) return UNSURE;
  return afterSame(bytes, end, unit);
}

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
