import { keyOfCategory } from '../../catalog/browse/browse.ts';
import { isBlank } from '../../catalog/ontology/ontology.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import {
  joinWords,
  keyOfGroup,
  LETTERS_PER_PRODUCT,
  listWords,
  type NumberKind,
  numberOf,
  signsOf,
} from './lexeme-parts.ts';
import { isForgivable } from './typing-errors.ts';
import { growTo, MOST_WORDS, Vocabulary } from './vocabulary.ts';

/**
 * The lexemes of products as bytes. Most words, values and categories occurred in earlier products, so this copies
 * what was computed for them.
 */

const FIRST_BYTES = 1 << 16;
const SPACE = 0x20;
const LINE_END = 0x0a;
const IN_HEAD = 0x6e;
const ANYWHERE = 0x61;
const IDENTITY = 0x69;
/** The bytes of a space and of three characters after U+FFFF. */
const NUMBER_BYTES = 13;
const BRAND = 'brand';

interface KnownKey {
  readonly number: number;
  readonly isHead: boolean;
  readonly values: Map<string, KnownValue>;
  /** The last product that had the key. */
  product: number;
}

interface KnownValue {
  readonly number: number;
  /** The words of the value, by their numbers in the vocabulary. */
  readonly words: readonly number[];
}

/** A category by its name, with the categories below it. */
interface KnownCategory {
  readonly number: number;
  readonly below: Map<string, KnownCategory>;
  product: number;
}

const KNOWN_ENTRIES = 20_000;
/** Longer values are seldom shared between products. */
const KNOWN_LENGTH = 100;
/** The most letters that one character becomes when it is folded: U+FDFA is a whole sentence. */
const LETTERS_PER_SIGN = 18;
/**
 * The size of the table of values that were seen once, by the last bits of their numbers. Most of these values never
 * recur.
 */
const SEEN_ONCE = 1 << 14;

/** The parts that the products of a thread share. */
class KnownParts {
  readonly vocabulary = new Vocabulary();
  /** The last product that has a word anywhere, or in its head, by the number of the word. */
  readonly anywhere = new Int32Array(MOST_WORDS);
  readonly inHead = new Int32Array(MOST_WORDS);
  readonly listed = new Int32Array(MOST_WORDS);
  private readonly seenOnce = new Float64Array(SEEN_ONCE);
  private readonly keys = new Map<string, KnownKey>();
  private readonly categories = new Map<string, KnownCategory>();
  private entries = 0;
  private products = 0;
  private lists = 0;

  startList(): number {
    this.lists += 1;
    return this.lists;
  }

  /** Drops everything if there are too many parts. @returns the number of the product that begins */
  startProduct(): number {
    this.products += 1;
    if (this.vocabulary.isFull || this.entries > KNOWN_ENTRIES) {
      this.vocabulary.clear();
      this.keys.clear();
      this.categories.clear();
      this.listed.fill(0);
      this.entries = 0;
    }
    return this.products;
  }

  findKey(key: string): KnownKey {
    const knownKey = this.keys.get(key);
    if (knownKey !== undefined) return knownKey;
    const isHead = key.toLowerCase() === BRAND;
    const created = { number: numberOf.key(key), isHead, values: new Map(), product: 0 };
    this.keys.set(key, created);
    this.entries += 1;
    return created;
  }

  /** @param value the value, with the number of letters that its product may still add */
  findValue(key: string, { values }: KnownKey, { value, letters }: { value: string; letters: number }) {
    const isShort = key.length + value.length <= KNOWN_LENGTH;
    const cached = isShort ? values.get(value) : undefined;
    if (cached !== undefined) return cached;
    const made = {
      number: numberOf.value(key, value),
      words: this.vocabulary.listNumbers(value, letters),
    };
    // If the value may be truncated for this product, it has more words for other products, so it is not cached.
    const isWhole = value.length * LETTERS_PER_SIGN <= letters;
    const slot = made.number & (SEEN_ONCE - 1);
    if (isShort && isWhole && this.seenOnce[slot] === made.number) {
      values.set(value, made);
      this.entries += 1;
    }
    this.seenOnce[slot] = made.number;
    return made;
  }

  findCategory(above: KnownCategory | undefined, path: readonly string[]): KnownCategory {
    const name = path.at(-1) ?? '';
    const siblings = above?.below ?? this.categories;
    const cached = siblings.get(name);
    if (cached !== undefined) return cached;
    const made = { number: keyOfCategory(path), below: new Map(), product: 0 };
    siblings.set(name, made);
    this.entries += 1;
    return made;
  }
}

const sharedParts = new KnownParts();

/** Writes the lexemes of each product in a line, separated by spaces. */
export class LexemeWriter {
  /** The words of letters only, which a question with typing errors may mean. */
  readonly forgivable: string[] = [];
  private readonly list = sharedParts.startList();
  private bytes: Uint8Array<ArrayBuffer> = new Uint8Array(FIRST_BYTES);
  private used = 0;
  private product = 0;
  /** The letters in the words of the product so far. */
  private letters = 0;

  /** @returns the lines in UTF-8 */
  finish(): Buffer {
    return Buffer.from(this.bytes.buffer, 0, this.used);
  }

  add(product: UploadedProduct): void {
    this.product = sharedParts.startProduct();
    this.letters = 0;
    const joined = joinWords(listWords(product.identifier));
    this.addText(product.identifier, true);
    this.addWords([sharedParts.vocabulary.numberOf(joined)], true);
    this.addText(product.name, true);
    this.addWord(IDENTITY, sharedParts.vocabulary.numberOf(joined));
    this.addNumber('identifier', numberOf.identifier(product.identifier));
    this.addNumber('group', keyOfGroup(product.groupIdentifier));
    for (const { path } of product.categories) this.addCategories(path);
    for (const { key, value } of product.attributes) if (!isBlank(value)) this.addAttribute(key, value);
    this.makeRoom(1);
    this.bytes[this.used] = LINE_END;
    this.used += 1;
  }

  private addCategories(path: readonly string[]): void {
    let category: KnownCategory | undefined;
    for (let depth = 1; depth <= path.length; depth += 1) {
      category = sharedParts.findCategory(category, path.slice(0, depth));
      if (category.product !== this.product) this.addNumber('category', category.number);
      category.product = this.product;
    }
  }

  private addAttribute(key: string, value: string): void {
    const ofKey = sharedParts.findKey(key);
    if (ofKey.product !== this.product) this.addNumber('key', ofKey.number);
    ofKey.product = this.product;
    const letters = LETTERS_PER_PRODUCT - this.letters;
    const ofValue = sharedParts.findValue(key, ofKey, { value, letters });
    this.addNumber('value', ofValue.number);
    this.addWords(ofValue.words, ofKey.isHead);
  }

  private addText(text: string, isHead: boolean): void {
    this.addWords(sharedParts.vocabulary.listNumbers(text, LETTERS_PER_PRODUCT - this.letters), isHead);
  }

  private addWords(numbers: readonly number[], isHead: boolean): void {
    const { letters } = sharedParts.vocabulary;
    for (const word of numbers) {
      this.letters += letters[word] as number;
      if (this.letters > LETTERS_PER_PRODUCT) return;
      this.addOnce(ANYWHERE, word, sharedParts.anywhere);
      if (isHead) this.addOnce(IN_HEAD, word, sharedParts.inHead);
      if (sharedParts.listed[word] !== this.list) this.listWord(word);
    }
  }

  /** @param lastOf the last product that has a word, by the number of the word */
  private addOnce(kind: number, word: number, lastOf: Int32Array): void {
    if (lastOf[word] === this.product) return;
    lastOf[word] = this.product;
    this.addWord(kind, word);
  }

  private listWord(word: number): void {
    const { listed, vocabulary } = sharedParts;
    listed[word] = this.list;
    if (vocabulary.hasDigit(word)) return;
    const text = vocabulary.read(word);
    if (isForgivable(text)) this.forgivable.push(text);
  }

  private addWord(kind: number, word: number): void {
    const { bytes: from, starts } = sharedParts.vocabulary;
    const end = starts[word + 1] as number;
    let source = starts[word] as number;
    this.makeRoom(end - source + 2);
    const { bytes } = this;
    let { used: target } = this;
    bytes[target++] = SPACE;
    bytes[target++] = kind;
    for (; source < end; source += 1) bytes[target++] = from[source] as number;
    this.used = target;
  }

  private addNumber(kind: NumberKind, number: number): void {
    this.makeRoom(NUMBER_BYTES);
    this.bytes[this.used++] = SPACE;
    for (const sign of signsOf(kind, number)) this.addSign(sign);
  }

  /** Writes a character after U+FFFF. */
  private addSign(sign: number): void {
    this.bytes[this.used++] = 0xf0 | (sign >>> 18);
    this.bytes[this.used++] = 0x80 | ((sign >>> 12) & 0x3f);
    this.bytes[this.used++] = 0x80 | ((sign >>> 6) & 0x3f);
    this.bytes[this.used++] = 0x80 | (sign & 0x3f);
  }

  private makeRoom(bytes: number): void {
    if (this.used + bytes > this.bytes.length) this.bytes = growTo(2 * (this.used + bytes), this.bytes);
  }
}

/** @returns the lexemes of a product, each once */
export function listLexemes(product: UploadedProduct): ReadonlySet<string> {
  const writer = new LexemeWriter();
  writer.add(product);
  return new Set(writer.finish().toString().trim().split(' '));
}

/** @returns the words of letters only */
export function listForgivable(lexemes: ReadonlySet<string>): readonly string[] {
  const anywhere = [...lexemes].flatMap((lexeme) =>
    lexeme.charCodeAt(0) === ANYWHERE ? lexeme.slice(1) : [],
  );
  return anywhere.filter(isForgivable);
}
