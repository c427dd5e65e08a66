import type { Attribute } from './attribute.ts';

/** Whether the stored bytes of a value make a fact for certain; others are read by `readValue`. */
type Fit = (bytes: Uint8Array, start: number, end: number) => boolean;

const ZERO = 0x30;
const NINE = 0x39;
const SPACE = 0x20;
const BACKSLASH = 0x5c;
/** So many digits are a finite number. */
const MOST_DIGITS = 15;

/** @returns quick `readValue`s for values as nearly all are: texts, and numbers of digits with one point and the unit */
export function compileFit({ type, unitName, decimal = 'point' }: Attribute): Fit {
  if (type === 'TEXT_ATTRIBUTE' || type === 'UNTYPED_ATTRIBUTE') return beginsWithText;
  if (type !== 'NUMERIC_ATTRIBUTE') return () => false;
  const unit = unitName === undefined ? undefined : Buffer.from(JSON.stringify(unitName).slice(1, -1));
  const point = decimal === 'comma' ? 0x2c : 0x2e;
  return (bytes, start, end) => {
    const number = unit === undefined ? end : end - unit.length - 1;
    return (
      isNumber(bytes, start, { end: number, point }) && (unit === undefined || endsWith(bytes, number, unit))
    );
  };
}

/** Nearly every text begins with a letter or a digit; what does not may be blank. */
function beginsWithText(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] as number;
  return end > start && first > SPACE && first < 0x80 && first !== BACKSLASH;
}

function isNumber(bytes: Uint8Array, start: number, { end, point }: { end: number; point: number }): boolean {
  if (end <= start || end - start > MOST_DIGITS || !isDigit(bytes[start])) return false;
  let points = 0;
  for (let at = start + 1; at < end; at += 1) {
    if (isDigit(bytes[at])) continue;
    if (bytes[at] !== point || points > 0) return false;
    points += 1;
  }
  return true;
}

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= ZERO && byte <= NINE;

function endsWith(bytes: Uint8Array, space: number, unit: Uint8Array): boolean {
  if (bytes[space] !== SPACE) return false;
  for (let at = 0; at < unit.length; at += 1) if (bytes[space + 1 + at] !== unit[at]) return false;
  return true;
}
