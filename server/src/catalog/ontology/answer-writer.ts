import {
  endOfText,
  FRONT_END,
  type StoredKey,
  StoredKeys,
  unescapeText,
} from '../products/documents/documents.ts';
import { computePlainValueId, computeValueId, type UploadedProduct } from '../products/products.ts';
import { type Attribute, indexByKey, isFact } from './attribute.ts';
import { describeCategories, describeFacts, listFacts } from './extraction.ts';

/**
 * Separators of the parts of a stored upload. Quotes in strings are escaped, so a string never contains a separator.
 */
const GROUP = ',"groupIdentifier":';
const LINK = ',"productUrl":';
const CATEGORIES = ',"categories":[';
const USER_GROUPS = ',"userGroups":[';
const ROW = ',"row":';
const ANSWERED_GROUP = Buffer.from(',"groupId":');
const ANSWERED_LINK = Buffer.from(',"link":');
const BEFORE_VALUE = Buffer.from(',"value":"');

const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const CLOSING = 0x5d;
/** The number of cached lists of categories of one catalog. */
const CACHED_CATEGORIES = 20_000;
/** How many keys without an attribute are listed. A list of this length may be incomplete. */
export const MOST_UNKNOWN_KEYS = 1_000;

const NOTHING = Buffer.alloc(0);

interface KnownAttribute {
  readonly attribute: Attribute;
  readonly fits: (bytes: Uint8Array, start: number, end: number) => boolean;
  readonly head: Buffer;
  readonly tail: Buffer;
  /** The number of the last answer that contained the attribute. */
  lastAnswer: number;
}

/**
 * Writes answers of the lookup, without id and time, from stored uploads. It copies bytes and parses only rare forms.
 * Source: docs/interface §2.2, §11.4.
 */
export class AnswerWriter {
  readonly byKey: ReadonlyMap<string, Attribute>;
  private readonly knownByAttribute = new Map<Attribute, KnownAttribute>();
  private readonly keys = new StoredKeys((stored) => this.know(stored));
  private readonly categories = new Map<string, Buffer>();
  private readonly categoryIdOf: (path: string) => number | undefined;
  /**
   * Keys of the uploads read so far that the ontology does not know. A new attribute with another key leaves the
   * answers correct.
   */
  readonly unknownKeys: Set<string>;
  /** The upload, and the same upload as a string with one character per byte. */
  private bytes: Buffer = NOTHING;
  private text = '';
  private written = 0;

  /**
   * @param categoryIdOf returns the id of a path as JSON. If it returns undefined, 0 is written and the id is read
   * again for the next answer.
   */
  constructor(
    attributes: readonly Attribute[],
    categoryIdOf: (path: string) => number | undefined,
    unknownKeys = new Set<string>(),
  ) {
    this.byKey = indexByKey(attributes);
    this.categoryIdOf = categoryIdOf;
    this.unknownKeys = unknownKeys;
  }

  /** Begins answers that are used together. Earlier answers of any writer must no longer be in use. */
  begin(): void {
    answers.clear();
  }

  /** @returns the answer, valid until the next `begin` */
  write(raw: Uint8Array): Buffer {
    const start = answers.end;
    this.written += 1;
    this.bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
    this.text = this.bytes.toString('latin1');
    if (!this.copyParts()) {
      answers.cut(start);
      answers.add(this.describe());
    }
    return answers.since(start);
  }

  private describe(): Buffer {
    const product = JSON.parse(this.bytes.toString()) as UploadedProduct;
    const { identifier, groupIdentifier: groupId, name, productUrl: link, images } = product;
    const fields = JSON.stringify({ identifier, groupId, name, link, images }).slice(1, -1);
    const categories = describeCategories(product.categories, (path) => this.categoryIdOf(path) ?? 0);
    for (const { key } of product.attributes) this.find(key);
    const facts = describeFacts(listFacts(product.attributes, this.byKey, true));
    return Buffer.from(`${fields},"categories":[${categories}],"facts":[${facts}]`);
  }

  /** @returns false for an upload that must be parsed */
  private copyParts(): boolean {
    const { bytes, text } = this;
    const group = text.indexOf(GROUP);
    const link = text.indexOf(LINK, group);
    const categories = text.indexOf(CATEGORIES, link);
    const attributes = text.indexOf(FRONT_END, categories);
    if (group < 0 || link < 0 || categories < 0 || attributes < 0) return false;
    if (text.includes(USER_GROUPS, attributes) || text.includes(ROW, attributes)) return false;
    answers.copy(bytes, 1, group);
    answers.add(ANSWERED_GROUP);
    answers.copy(bytes, group + GROUP.length, link);
    answers.add(ANSWERED_LINK);
    answers.copy(bytes, link + LINK.length, categories);
    answers.add(this.findCategories(categories + CATEGORIES.length, attributes));
    const isWhole = this.addFacts(attributes + FRONT_END.length);
    answers.addByte(CLOSING);
    return isWhole;
  }

  /** @returns the categories, followed by the beginning of the facts */
  private findCategories(start: number, end: number): Buffer {
    const stored = this.text.slice(start, end);
    const cached = this.categories.get(stored);
    if (cached !== undefined) return cached;
    let areAllKnown = true;
    const categories = JSON.parse(
      `[${this.bytes.toString('utf8', start, end)}`,
    ) as UploadedProduct['categories'];
    const described = describeCategories(categories, (path) => {
      const id = this.categoryIdOf(path);
      areAllKnown &&= id !== undefined;
      return id ?? 0;
    });
    const buffer = Buffer.from(`,"categories":[${described}],"facts":[`);
    if (this.categories.size >= CACHED_CATEGORIES) this.categories.clear();
    if (areAllKnown) this.categories.set(flatten(stored), buffer);
    return buffer;
  }

  /** @returns false if an attribute has several values, because they may be one fact */
  private addFacts(start: number): boolean {
    const { text } = this;
    const first = answers.end;
    let before: StoredKey<KnownAttribute> | undefined;
    for (let offset = start; text.charCodeAt(offset) !== CLOSING; ) {
      before = this.keys.follow(text, before, offset);
      const { prefix, resolved: attribute } = before;
      const value = offset + prefix.length;
      const end = endOfText(text, value);
      if (attribute !== undefined) {
        if (attribute.lastAnswer === this.written) return false;
        attribute.lastAnswer = this.written;
        this.addFact(attribute, value, end);
      }
      offset = end + '"}'.length;
      if (text.charCodeAt(offset) === COMMA) offset += 1;
    }
    if (answers.end > first) answers.cut(answers.end - 1);
    return true;
  }

  /** @param stored the key, with one character per byte */
  private know(stored: string): KnownAttribute | undefined {
    const bytes = Buffer.from(stored, 'latin1');
    const attribute = this.find(readStored(bytes, 0, bytes.length));
    return attribute && this.knownByAttribute.getOrInsertComputed(attribute, knowAttribute);
  }

  private find(key: string): Attribute | undefined {
    const attribute = this.byKey.get(key);
    if (attribute === undefined && this.unknownKeys.size < MOST_UNKNOWN_KEYS) this.unknownKeys.add(key);
    return attribute;
  }

  /** Writes a fact and a trailing comma. */
  private addFact({ attribute, fits, head, tail }: KnownAttribute, start: number, end: number): void {
    const { bytes } = this;
    if (!fits(bytes, start, end) && !isFact(readStored(bytes, start, end), attribute)) return;
    answers.add(head);
    const id = computePlainValueId(attribute.id, bytes, { start, end });
    answers.addInteger(id >= 0 ? id : computeValueId(attribute.id, readStored(bytes, start, end)));
    answers.add(BEFORE_VALUE);
    answers.copy(bytes, start, end);
    answers.add(tail);
  }
}

function knowAttribute(attribute: Attribute): KnownAttribute {
  const { id, name, type } = attribute;
  return {
    attribute,
    fits: compileFit(attribute),
    head: Buffer.from(`{"attributeId":${id},"attribute":${JSON.stringify(name)},"valueId":`),
    tail: Buffer.from(`","type":"${type}"},`),
    lastAnswer: 0,
  };
}

const readStored = (bytes: Buffer, start: number, end: number): string =>
  unescapeText(bytes.toString('utf8', start, end));

/** Copies the text, because a substring would keep the whole string in memory. */
const flatten = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

const FIRST_BYTES = 256 * 1024;
/** A larger buffer is released when the next answers begin. */
const CACHED_BYTES = 8 * 1024 * 1024;
/** A loop copies so few bytes faster than a call does. */
const LOOPED_BYTES = 24;
const ZERO = 0x30;
/** Eight digits are written together, because 32-bit integers are much faster to split. */
const EIGHT_DIGITS = 100_000_000;

class AnswerBytes {
  private target = Buffer.allocUnsafeSlow(FIRST_BYTES);
  private used = 0;

  get end(): number {
    return this.used;
  }

  /** Starts again from the beginning. After this call, earlier answers may be overwritten. */
  clear(): void {
    if (this.target.length > CACHED_BYTES) this.target = Buffer.allocUnsafeSlow(FIRST_BYTES);
    this.used = 0;
  }

  /** @returns the bytes written since `start`, valid until `clear` */
  since(start: number): Buffer {
    return this.target.subarray(start, this.used);
  }

  cut(end: number): void {
    this.used = end;
  }

  add(bytes: Uint8Array): void {
    this.makeRoom(bytes.length);
    if (bytes.length > LOOPED_BYTES) this.target.set(bytes, this.used);
    else
      for (let index = 0; index < bytes.length; index += 1)
        this.target[this.used + index] = bytes[index] as number;
    this.used += bytes.length;
  }

  addByte(byte: number): void {
    this.makeRoom(1);
    this.target[this.used] = byte;
    this.used += 1;
  }

  copy(source: Buffer, start: number, end: number): void {
    this.makeRoom(end - start);
    if (end - start > LOOPED_BYTES) source.copy(this.target, this.used, start, end);
    else
      for (let offset = start; offset < end; offset += 1)
        this.target[this.used + offset - start] = source[offset] as number;
    this.used += end - start;
  }

  /** Writes an integer from 0 to 2^53 in digits. */
  addInteger(value: number): void {
    this.makeRoom(16);
    const high = Math.floor(value / EIGHT_DIGITS);
    const low = value - high * EIGHT_DIGITS;
    if (high === 0) this.addDigits(low, countDigits(low));
    else {
      this.addDigits(high, countDigits(high));
      this.addDigits(low, 8);
    }
  }

  private addDigits(value: number, count: number): void {
    let rest = value | 0;
    for (let position = this.used + count - 1; position >= this.used; position -= 1) {
      const next = (rest / 10) | 0;
      this.target[position] = ZERO + (rest - next * 10);
      rest = next;
    }
    this.used += count;
  }

  private makeRoom(bytes: number): void {
    if (this.used + bytes <= this.target.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.used + bytes, this.target.length * 2));
    this.target.copy(larger, 0, 0, this.used);
    this.target = larger;
  }
}

function countDigits(value: number): number {
  let count = 1;
  for (let limit = 10; limit <= value; limit *= 10) count += 1;
  return count;
}

/** One buffer for the thread, because answers are copied from it before the next ones are written. */
const answers = new AnswerBytes();

/** @returns whether the stored bytes of a value certainly make a fact; `readValue` decides about other values */
type Fit = (bytes: Uint8Array, start: number, end: number) => boolean;

const NINE = 0x39;
const SPACE = 0x20;
/** A number with this many digits is finite. */
const MOST_DIGITS = 15;

/**
 * @returns a faster `readValue` for nearly all values: texts, and numbers of digits with one decimal sign and the
 * unit
 */
function compileFit({ type, unitName, decimal = 'point' }: Attribute): Fit {
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

/** Nearly every text begins with a letter or a digit. Any other text may be blank. */
function beginsWithText(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] as number;
  return end > start && first > SPACE && first < 0x80 && first !== BACKSLASH;
}

function isNumber(bytes: Uint8Array, start: number, { end, point }: { end: number; point: number }): boolean {
  if (end <= start || end - start > MOST_DIGITS || !isDigit(bytes[start])) return false;
  let points = 0;
  for (let offset = start + 1; offset < end; offset += 1) {
    if (isDigit(bytes[offset])) continue;
    if (bytes[offset] !== point || points > 0) return false;
    points += 1;
  }
  return true;
}

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= ZERO && byte <= NINE;

function endsWith(bytes: Uint8Array, space: number, unit: Uint8Array): boolean {
  if (bytes[space] !== SPACE) return false;
  for (let index = 0; index < unit.length; index += 1)
    if (bytes[space + 1 + index] !== unit[index]) return false;
  return true;
}
