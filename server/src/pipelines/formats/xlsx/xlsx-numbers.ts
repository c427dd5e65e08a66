import { writePlainNumber } from '../plain-number.ts';

/** How the number of a cell is meant. */
export type NumberStyle =
  | { readonly kind: 'number' }
  /** Shown with zeros in front: article numbers and postal codes. */
  | { readonly kind: 'padded'; readonly digits: number }
  | { readonly kind: 'date' }
  | { readonly kind: 'duration' };

/** Formats that have a number and no text. Source: ECMA-376, part 1, 18.8.30. */
const DATE_FORMATS = [
  [14, 22],
  [27, 36],
  [45, 47],
  [50, 58],
] as const;
const DURATION_FORMAT = 46;
const PADDED = /^0{2,64}$/;
/** What is no code of a date: texts in quotes, escaped or padding characters, colours, conditions and locales. */
const NO_CODE = /"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi;

const NUMBER: NumberStyle = { kind: 'number' };

/** @param code the text of a format that the workbook defines */
export function readNumberStyle(formatId: number, code: string | undefined): NumberStyle {
  if (code === undefined) return readBuiltInStyle(formatId);
  const [positive = ''] = code.slice(0, 1_000).replace(NO_CODE, '').split(';');
  if (/\[[hms]+\]/i.test(positive)) return { kind: 'duration' };
  if (/[ymdhs]/i.test(positive)) return { kind: 'date' };
  return PADDED.test(positive) ? { kind: 'padded', digits: positive.length } : NUMBER;
}

function readBuiltInStyle(formatId: number): NumberStyle {
  if (formatId === DURATION_FORMAT) return { kind: 'duration' };
  return DATE_FORMATS.some(([first, last]) => formatId >= first && formatId <= last)
    ? { kind: 'date' }
    : NUMBER;
}

/** Excel shows and keeps 15 digits; the file has more, which are noise: 0.30000000000000004. */
const DIGITS = 15;
const PLAIN_INTEGER = /^-?\d+$/;

/** @returns the number as text, without an exponent; what is no number as it stands */
export function writeNumber(text: string, style: NumberStyle, startsIn1904: boolean): string {
  if (style.kind === 'date' || style.kind === 'duration') {
    const serial = Number(text);
    const moment = style.kind === 'date' ? writeDate(serial, startsIn1904) : writeDuration(serial);
    if (moment !== undefined) return moment;
  }
  const plain = writePlain(text);
  if (style.kind !== 'padded' || !PLAIN_INTEGER.test(plain) || plain.startsWith('-')) return plain;
  return plain.padStart(style.digits, '0');
}

function writePlain(text: string): string {
  if (PLAIN_INTEGER.test(text)) return text;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) return text;
  return writePlainNumber(String(Number(value.toPrecision(DIGITS))));
}

const DAY_SECONDS = 86_400;
/** Day 0 of both calendars as days since 1970. */
const EPOCH_1900 = -25_569;
const EPOCH_1904 = -24_107;
/** Excel counts a 29 February 1900 that never was. */
const DAYS_BEFORE_LEAP = 60;
/** 9999-12-31 */
const LAST_DAY = 2_958_466;

/** @returns `2024-05-31`, `2024-05-31T14:30:00` or, without a day, `14:30:00`; undefined for what is no date */
function writeDate(serial: number, startsIn1904: boolean): string | undefined {
  if (!(serial >= 0 && serial < LAST_DAY)) return undefined;
  const seconds = Math.round(serial * DAY_SECONDS);
  const days = Math.floor(seconds / DAY_SECONDS);
  const clock = writeClock(seconds - days * DAY_SECONDS);
  if (days === 0 && !startsIn1904) return clock;
  const missing = !startsIn1904 && days < DAYS_BEFORE_LEAP ? 1 : 0;
  const sinceEpoch = days + missing + (startsIn1904 ? EPOCH_1904 : EPOCH_1900);
  const date = new Date(sinceEpoch * DAY_SECONDS * 1_000).toISOString().slice(0, 10);
  return seconds % DAY_SECONDS === 0 ? date : `${date}T${clock}`;
}

function writeDuration(serial: number): string | undefined {
  return serial >= 0 && serial < LAST_DAY ? writeClock(Math.round(serial * DAY_SECONDS)) : undefined;
}

function writeClock(seconds: number): string {
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}
