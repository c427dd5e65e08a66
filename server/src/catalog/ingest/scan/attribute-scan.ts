import {
  CODE_DIGITS,
  isSurelyText,
  joinObserved,
  type Observed,
  observeValue,
} from '../../ontology/drafts/drafts.ts';
import { isBlank } from '../../ontology/ontology.ts';
import { ValueSchema } from '../../products/schemas/schemas.ts';
import {
  afterSame,
  afterSameAgain,
  afterText,
  BACKSLASH,
  CLOSES_OBJECT,
  COMMA,
  type CountedSpan,
  decodeText,
  endOfDigits,
  irregularities,
  MINUS,
  NO_SPAN,
  POINT,
  QUOTE,
  type Reader,
  readerOf,
  type Span,
  sizesOf,
  skipSpace,
  UNCERTAIN,
  ZERO,
} from './readers.ts';
import { IntList, SpanNumbers } from './span-table.ts';

/** An attribute key of this body, and the forms of its values so far. */
export interface ScannedKey {
  readonly name: string;
  readonly number: number;
  /** The bytes before its values, from the opening brace on. */
  lead: CountedSpan;
  /**
   * The two keys that followed this one most recently, because consecutive products differ by an attribute or two.
   */
  next: ScannedKey | undefined;
  other: ScannedKey | undefined;
  observed: Observed | undefined;
  measure: KnownMeasure | undefined;
  /** Whether the values are certainly text; further values cannot change that. */
  isText: boolean;
  /** Whether a value was empty, for the report. */
  hasBlank: boolean;
}

const createKey = (name: string, number: number): ScannedKey => ({
  name,
  number,
  lead: NO_SPAN,
  next: undefined,
  other: undefined,
  observed: undefined,
  measure: undefined,
  isText: false,
  hasBlank: false,
});

const { key: KeySchema, value: TextSchema, row: RowSchema } = ValueSchema.properties;
const [KEY, VALUE] = [sizesOf(KeySchema), sizesOf(TextSchema)];
/** The limit for a body, because each key takes memory. */
const MOST_KEYS = 16_384;
const SPACE = 0x20;
const ASCII = 0x80;

/** @returns whether a text may be blank, by its first byte */
const mayBeBlank = (first = QUOTE) =>
  first <= SPACE || first === QUOTE || first === BACKSLASH || first >= ASCII;

/** Reads the attributes of products, and notes the properties of their values that a draft of the ontology needs. */
export class AttributeScan {
  readonly observed = new Map<string, Observed>();
  /** All keys, at the index of their number. */
  readonly distinct: ScannedKey[] = [];
  /** For each value, the number of its key, its start and its end. Null values are omitted. */
  readonly values = new IntList();
  /** Start and end of the row of a value, by the index of the value in `values`. */
  private readonly rows = new Map<number, readonly [start: number, end: number]>();
  private readonly bytes: Buffer;
  private readonly numbers = new SpanNumbers();
  private readonly keys: ScannedKey[] = [];
  private readonly byName = new Map<string, ScannedKey>();
  private readonly first = createKey('', UNCERTAIN);
  private key = this.first;
  private parsedKey = this.first;
  private keyEnd = UNCERTAIN;
  private valueAt = UNCERTAIN;
  private irregularBefore = 0;
  private row: readonly [start: number, end: number] | undefined;
  private readonly readAny: Reader;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    const readRow = readerOf(bytes, { ...RowSchema, type: ['string', 'integer'] }, new Map());
    const noting = new Map<object, Reader>([
      [KeySchema, (offset) => this.afterKey(offset)],
      [TextSchema, (offset) => this.afterTextOf(offset)],
      [
        RowSchema,
        (offset) => {
          const end = readRow(offset);
          if (end >= 0) this.row = [offset, end];
          return end;
        },
      ],
    ]);
    this.readAny = readerOf(bytes, ValueSchema, noting);
  }

  /** Starts again at the first key, because similar products have the same keys in the same order. */
  startProduct(): void {
    this.key = this.first;
  }

  readonly read: Reader = (offset) => {
    const before = this.key;
    const mark = this.values.length;
    const value = this.afterLead(offset);
    if (value >= 0) {
      const end = skipSpace(this.bytes, this.afterValue(value));
      if (this.bytes[end] === CLOSES_OBJECT) return end + 1;
      this.key = before;
      this.values.length = mark;
    }
    return this.afterAny(offset);
  };

  /**
   * Tries the keys that followed the last key in earlier products, because the same key nearly always follows again.
   * @returns the position of the value
   */
  private afterLead(offset: number): number {
    const { bytes, key } = this;
    const { next, other } = key;
    const value = next === undefined ? UNCERTAIN : afterSameAgain(bytes, offset, next.lead);
    if (value >= 0) this.key = next as ScannedKey;
    if (value >= 0 || other === undefined) return value;
    const second = afterSameAgain(bytes, offset, other.lead);
    if (second >= 0) this.goTo(other);
    return second;
  }

  private goTo(key: ScannedKey): void {
    const before = this.key;
    if (before.next !== key) before.other = before.next;
    before.next = key;
    this.key = key;
  }

  private afterAny(offset: number): number {
    const before = irregularities.count;
    this.row = undefined;
    const end = this.readAny(offset);
    if (end < 0) return UNCERTAIN;
    const { parsedKey, keyEnd, valueAt } = this;
    if (valueAt > keyEnd) {
      parsedKey.lead = {
        start: offset,
        length: valueAt - offset,
        irregularities: this.irregularBefore - before,
      };
      this.goTo(parsedKey);
    } else this.key = parsedKey;
    if (this.bytes[valueAt] !== QUOTE) return end;
    if (this.row !== undefined) this.rows.set(this.values.length, this.row);
    this.afterValue(valueAt);
    return end;
  }

  /** @returns the row of the value at an index in `values` */
  rowAt(index: number): string | number | undefined {
    const span = this.rows.size === 0 ? undefined : this.rows.get(index);
    return span && (JSON.parse(this.bytes.toString('utf8', ...span)) as string | number);
  }

  private afterKey(offset: number): number {
    const end = afterText(this.bytes, offset, KEY);
    const number = end < 0 ? UNCERTAIN : this.numbers.add(this.bytes, offset, end);
    if (number < 0 || number >= MOST_KEYS) return UNCERTAIN;
    this.parsedKey = this.keys[number] ?? this.addKey(offset, end);
    this.keyEnd = end;
    return end;
  }

  /** Two spellings of a name are one key. */
  private addKey(start: number, end: number): ScannedKey {
    const name = decodeText(this.bytes, start, end);
    const key = this.byName.get(name) ?? createKey(name, this.distinct.length);
    if (key.number === this.distinct.length) this.distinct.push(key);
    this.byName.set(name, key);
    this.keys.push(key);
    return key;
  }

  /** Notes the position only, because a value may precede its key. */
  private afterTextOf(offset: number): number {
    this.valueAt = offset;
    this.irregularBefore = irregularities.count;
    return afterText(this.bytes, offset, VALUE);
  }

  private afterValue(offset: number): number {
    const end = this.readValue(offset);
    this.values.addThree(this.key.number, offset, end);
    return end;
  }

  private readValue(offset: number): number {
    const { bytes, key } = this;
    if (key.measure !== undefined && bytes[offset] === QUOTE) {
      const end = endOfMeasure(bytes, offset, key.measure);
      if (end >= 0) return end;
    }
    const end = afterText(bytes, offset, VALUE);
    if (end < 0) return end;
    if (!key.hasBlank && mayBeBlank(bytes[offset + 1]))
      key.hasBlank = isBlank(decodeText(bytes, offset, end));
    if (!key.isText) this.observe(offset, end);
    return end;
  }

  private observe(start: number, end: number): void {
    const { bytes, key } = this;
    if (key.observed?.isBoolean && isTruth(bytes, start, end)) return;
    const value = decodeText(bytes, start, end);
    if (isBlank(value)) return;
    const observed = joinObserved(key.observed, observeValue(value));
    key.observed = observed;
    key.isText = isSurelyText(observed);
    key.measure = key.isText ? undefined : knowMeasure(observed, findUnit(bytes, start, end));
    this.observed.set(key.name, observed);
  }
}

/** @returns the form that a number must have to add nothing to these observations; undefined without `unit` */
function knowMeasure({ misfits }: Observed, unit: Span | undefined) {
  if (unit === undefined) return undefined;
  if (misfits.comma !== undefined) return { unit, decimal: POINT };
  const isComma = misfits.plain !== undefined && misfits.point !== undefined;
  return { unit, decimal: isComma ? COMMA : undefined };
}

const PLUS = 0x2b;
/** Bytes of characters outside ASCII, such as a no-break space, begin here. */
const BEYOND_ASCII = 0x80;

/** The form that a number must have to add nothing to the observations of its attribute. */
interface KnownMeasure {
  /** The bytes after the number: the unit, if there is one, and the closing quote. */
  readonly unit: Span;
  /** undefined: only integers, because other numbers need the decimal sign. */
  readonly decimal: number | undefined;
}

/**
 * Matches a string that is certainly a number, with this unit and its closing quote. Any other string is UNCERTAIN
 * although it may be a number, such as one with an escape.
 * @param offset the position of the opening quote
 */
function endOfMeasure(bytes: Uint8Array, offset: number, { unit, decimal }: KnownMeasure): number {
  const start = afterSign(bytes, offset + 1);
  const whole = endOfDigits(bytes, start);
  if (whole === start || (bytes[start] === ZERO && whole > start + 1)) return UNCERTAIN;
  if (decimal === undefined || bytes[whole] !== decimal)
    return whole - start < CODE_DIGITS ? afterSame(bytes, whole, unit) : UNCERTAIN;
  const end = endOfDigits(bytes, whole + 1);
  return end > whole + 1 && end - start - 1 < CODE_DIGITS ? afterSame(bytes, end, unit) : UNCERTAIN;
}

const afterSign = (bytes: Uint8Array, offset: number) =>
  bytes[offset] === PLUS || bytes[offset] === MINUS ? offset + 1 : offset;

/** @returns the bytes after the number in a string that is a measure; undefined if uncertain */
function findUnit(bytes: Uint8Array, start: number, end: number): Span | undefined {
  let offset = afterSign(bytes, start + 1);
  while (isOfNumber(bytes[offset] as number)) offset += 1;
  // A space may separate groups of digits.
  const isClear =
    bytes[offset] === QUOTE || (bytes[offset] === SPACE && !isOfNumber(bytes[offset + 1] as number));
  return isClear && (bytes[offset + 1] as number) < BEYOND_ASCII
    ? { start: offset, length: end - offset }
    : undefined;
}

const NINE = 0x39;
const isOfNumber = (byte: number) => (byte >= ZERO && byte <= NINE) || byte === POINT || byte === COMMA;

const [TRUE, FALSE] = [Buffer.from('"true"'), Buffer.from('"false"')];
/** The bit that distinguishes lower case letters from capitals. */
const SMALL = 0x20;

/** @returns whether a string is true or false in any case, without an escape */
function isTruth(bytes: Uint8Array, start: number, end: number): boolean {
  const word = end - start === TRUE.length ? TRUE : FALSE;
  if (end - start !== word.length) return false;
  for (let index = 0; index < word.length; index += 1) {
    if (((bytes[start + index] as number) | SMALL) !== word[index]) return false;
  }
  return true;
}
