import { keyOfCategory } from '../../catalog/browse/browse.ts';
import type { PlacedRow } from '../../catalog/catalog.ts';
import { computeValueId } from '../../catalog/products/products.ts';

/**
 * The lexemes of a product. The first letter of a lexeme is its kind. `n` is a word of the identifier, name or brand;
 * `a` is a word of these and of all values; `i` is the whole identifier. The other lexemes are numbers: for a key, a
 * key with a value, a category and its ancestors, the exact identifier, and the group. Lexemes consist of letters,
 * digits and characters after U+FFFF, which both engines accept unchanged.
 */

/** Longer words are truncated, in products and in questions. */
export const WORD_LENGTH = 64;
/**
 * How many letters of words one product can have in the index. Further words do not find it. PostgreSQL allows 1 MB.
 */
export const LETTERS_PER_PRODUCT = 100_000;

const ASCII = /^[\0-\x7f]*$/;
const MARKS = /\p{M}+/gu;
/** Letters that Unicode does not decompose. */
const SPELT: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};
const SPELT_LETTERS = new RegExp(`[${Object.keys(SPELT).join('')}]`, 'g');
/** Chinese and Japanese texts have no spaces, so each character is a word. */
const WORD = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]|[[\p{L}\p{N}]--[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]]+/gv;

/** @returns the words without case and accents, in order; words may repeat */
export const listWords = (text: string): readonly string[] => (foldText(text).match(WORD) ?? []).map(cutWord);

const cutWord = (word: string): string =>
  word.length > WORD_LENGTH ? word.slice(0, WORD_LENGTH).toWellFormed() : word;

function foldText(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const bare = text.normalize('NFKD').replace(MARKS, '').toLowerCase();
  return bare.replace(SPELT_LETTERS, (letter) => SPELT[letter] ?? letter);
}

export const isAscii = (text: string): boolean => ASCII.test(text);

/**
 * @returns false for most products that lack one of the words; this takes a tenth of the time of making their lexemes
 */
export function hasWords(
  { text, identifier }: Pick<PlacedRow, 'text' | 'identifier'>,
  words: readonly string[],
): boolean {
  const folded = foldText(text);
  const joined = joinWords(listWords(identifier));
  // A part number may be grouped in another way.
  if (joined === joinWords(words)) return true;
  return words.every((word) => folded.includes(word) || joined.startsWith(word));
}

/** Joins words, so that `ABC123` also finds `ABC-123`. */
export const joinWords = (words: readonly string[]): string =>
  words.join('').slice(0, WORD_LENGTH).toWellFormed();

/** Numbers of 53 bits that represent the parts of a product in the index. */
export const numberOf = {
  key: (key: string) => computeValueId(1, key),
  value: (key: string, value: string) => computeValueId(2, `${key}\0${value}`),
  identifier: (identifier: string) => computeValueId(3, identifier),
};

/** @returns the number of a group in the index; it has 53 bits, so that no two groups of a catalog collide */
export const keyOfGroup = (group: string): number => computeValueId(4, group);

export const lexemeOf = {
  key: (key: string) => writeSigns('key', numberOf.key(key)),
  value: (key: string, value: string) => writeSigns('value', numberOf.value(key, value)),
  identifier: (identifier: string) => writeSigns('identifier', numberOf.identifier(identifier)),
  category: (path: readonly string[]) => writeSigns('category', keyOfCategory(path)),
  group: (key: number) => writeSigns('group', key),
};

const KINDS = ['key', 'value', 'identifier', 'category', 'group'] as const;
export type NumberKind = (typeof KINDS)[number];
const BEYOND = 0x10000;
const LAST_BITS = 2 ** 19 - 1;

/** @returns three characters after U+FFFF, for the kind and the 53 bits of a number */
export function signsOf(kind: NumberKind, number: number): [number, number, number] {
  const first = KINDS.indexOf(kind) * 2 ** 15 + ((number / 2 ** 38) | 0);
  const second = (number / 2 ** 19) & LAST_BITS;
  return [BEYOND + first, BEYOND + second, BEYOND + (number & LAST_BITS)];
}

const writeSigns = (kind: NumberKind, number: number) => String.fromCodePoint(...signsOf(kind, number));
