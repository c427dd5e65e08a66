import { keyOfCategory, visitCategories } from '../browse/browse.ts';
import { isBlank } from '../ontology/ontology.ts';
import type { PlacedRow } from '../port.ts';
import { computeValueId, type UploadedProduct } from '../products/products.ts';

/**
 * What a product is found by: a set of lexemes, one kind by its first letter. `n` words of its identifier, name and brand,
 * `a` words of these and of all values, `i` its whole identifier; then numbers that stand for a key, a key with a value, a category
 * and those above it, the exact identifier, the group. Letters, digits and signs beyond U+FFFF, so that both engines take them as they are.
 */

/** Longer words are cut, in products and in questions. */
const WORD_LENGTH = 64;
/** Letters of one product's words; further words do not find it. PostgreSQL takes 1 MB. */
const LETTERS_PER_PRODUCT = 100_000;

const ASCII = /^[\0-\x7f]*$/;
const MARKS = /\p{M}+/gu;
/** Letters that Unicode does not take apart. */
const SPELT: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ı: 'i' },
};
const SPELT_LETTERS = new RegExp(`[${Object.keys(SPELT).join('')}]`, 'g');
/** Chinese and Japanese have no spaces: each sign is a word. */
const WORD = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]|[[\p{L}\p{N}]--[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]]+/gv;

/** @returns words without case and accents, in their order; some may repeat */
export const listWords = (text: string): readonly string[] =>
  ASCII.test(text) ? listPlainWords(text.toLowerCase()) : (foldText(text).match(WORD) ?? []).map(cutWord);

const cutWord = (word: string): string =>
  word.length > WORD_LENGTH ? word.slice(0, WORD_LENGTH).toWellFormed() : word;

const isPlain = (code: number): boolean => (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39);

/** Runs of a to z and 0 to 9: a third of the time of the pattern. */
function listPlainWords(text: string): readonly string[] {
  const words: string[] = [];
  let start = 0;
  let hash = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isPlain(code)) hash = Math.imul(hash ^ code, 0x01000193);
    else {
      if (at > start) words.push(takeWord(text, start, { end: at, hash }));
      start = at + 1;
      hash = 0;
    }
  }
  return words;
}

/** Words that came before, by their hash: to make them again would take most of the time. */
const taken: string[] = [];
const TAKEN = 1 << 14;
/** A longer word would keep the text that it is a part of. */
const TAKEN_LENGTH = 12;

function takeWord(text: string, start: number, { end, hash }: { end: number; hash: number }): string {
  if (end - start > TAKEN_LENGTH) return text.slice(start, Math.min(end, start + WORD_LENGTH));
  const place = (hash ^ (hash >>> 15)) & (TAKEN - 1);
  const known = taken[place];
  if (known !== undefined && known.length === end - start && text.startsWith(known, start)) return known;
  const word = text.slice(start, end);
  taken[place] = word;
  return word;
}

function foldText(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const bare = text.normalize('NFKD').replace(MARKS, '').toLowerCase();
  return bare.replace(SPELT_LETTERS, (letter) => SPELT[letter] ?? letter);
}

const BRAND = 'brand';

/** What a product is found by, each once. */
class Lexemes {
  readonly words = new Set<string>();
  readonly ofHead = new Set<string>();
  readonly others = new Set<string>();
  private letters = 0;

  get isFull(): boolean {
    return this.letters > LETTERS_PER_PRODUCT;
  }

  addWords(words: readonly string[], isHead: boolean): void {
    for (const word of words) {
      this.letters += word.length;
      if (this.isFull) return;
      this.words.add(word);
      if (isHead) this.ofHead.add(word);
    }
  }
}

function readLexemes(product: UploadedProduct): Lexemes {
  const lexemes = new Lexemes();
  const { others } = lexemes;
  const ofIdentifier = listWords(product.identifier);
  const joined = joinWords(ofIdentifier);
  lexemes.addWords([...ofIdentifier, joined], true);
  lexemes.addWords(listWords(product.name), true);
  others.add(`i${joined}`).add(lexemeOf.identifier(product.identifier));
  others.add(lexemeOf.group(keyOfGroup(product.groupIdentifier)));
  visitCategories(product, (key) => others.add(numberedLexeme('category', key)));
  for (const { key, value } of product.attributes) {
    if (isBlank(value)) continue;
    const { ofKey, ofValue, words, isHead } = readAttribute(key, value, lexemes);
    others.add(ofKey).add(ofValue);
    lexemes.addWords(words, isHead);
  }
  return lexemes;
}

export function listLexemes(product: UploadedProduct): ReadonlySet<string> {
  const { words, ofHead, others } = readLexemes(product);
  return new Set([...prefix('a', words), ...prefix('n', ofHead), ...others]);
}

/** @returns false for most products that lack one of the words, in a tenth of the time of their lexemes */
export function hasWords(
  { text, identifier }: Pick<PlacedRow, 'text' | 'identifier'>,
  words: readonly string[],
): boolean {
  const folded = foldText(text);
  const joined = joinWords(listWords(identifier));
  // A part number may be grouped otherwise.
  if (joined === joinWords(words)) return true;
  return words.every((word) => folded.includes(word) || joined.startsWith(word));
}

const prefix = (kind: string, words: ReadonlySet<string>) => [...words].map((word) => kind + word);

/** The same with spaces between, in a third less time. */
export function writeLexemes(product: UploadedProduct): string {
  const { words, ofHead, others } = readLexemes(product);
  return `a${[...words].join(' a')} n${[...ofHead].join(' n')} ${[...others].join(' ')}`;
}

/** Most values are those of many products: kept, they cost a third. */
const cache = new Map<string, Map<string, ReturnType<typeof makeLexemes>>>();
const CACHED = 20_000;
const CACHED_LENGTH = 100;
let cachedValues = 0;

function readAttribute(key: string, value: string, { isFull }: Pick<Lexemes, 'isFull'>) {
  const known = cache.get(key)?.get(value);
  if (known !== undefined) return known;
  const isShort = key.length + value.length <= CACHED_LENGTH;
  // Words of a long value are most of what a long product costs.
  const made = makeLexemes(key, value, isFull && !isShort ? [] : listWords(value));
  if (!isShort) return made;
  if (cachedValues === CACHED) {
    cache.clear();
    cachedValues = 0;
  }
  cache.getOrInsertComputed(key, () => new Map()).set(value, made);
  cachedValues += 1;
  return made;
}

const makeLexemes = (key: string, value: string, words: readonly string[]) => ({
  ...{ ofKey: lexemeOf.key(key), ofValue: lexemeOf.value(key, value) },
  ...{ words, isHead: key.toLowerCase() === BRAND },
});

/** `ABC-123` is found by `ABC123` too. */
export const joinWords = (words: readonly string[]): string =>
  words.join('').slice(0, WORD_LENGTH).toWellFormed();

export const lexemeOf = {
  key: (key: string) => numberedLexeme('key', computeValueId(1, key)),
  value: (key: string, value: string) => numberedLexeme('value', computeValueId(2, `${key}\0${value}`)),
  identifier: (identifier: string) => numberedLexeme('identifier', computeValueId(3, identifier)),
  category: (path: readonly string[]) => numberedLexeme('category', keyOfCategory(path)),
  group: (key: number) => numberedLexeme('group', key),
};

/** @returns the number that stands for a group in the index; 53 bits, so that no two groups of a catalog share it */
export const keyOfGroup = (group: string): number => computeValueId(4, group);

const KINDS = ['key', 'value', 'identifier', 'category', 'group'] as const;
const BEYOND = 0x10000;

/**
 * Three signs for the kind and the 53 bits of a number: FTS5 indexes the beginnings of each lexeme, of which a number in
 * letters and digits has four times as many.
 */
function numberedLexeme(kind: (typeof KINDS)[number], number: number): string {
  const first = KINDS.indexOf(kind) * 2 ** 15 + Math.floor(number / 2 ** 38);
  const second = Math.floor(number / 2 ** 19) % 2 ** 19;
  return String.fromCodePoint(BEYOND + first, BEYOND + second, BEYOND + (number % 2 ** 19));
}
