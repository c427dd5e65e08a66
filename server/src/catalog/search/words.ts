import { keyOfCategory, visitCategories } from '../browse/browse.ts';
import { isBlank } from '../ontology/ontology.ts';
import { computeValueId, type UploadedProduct } from '../products/products.ts';

/**
 * What a product is found by: a set of lexemes, one kind by its first letter. `n` words of its identifier, name and brand,
 * `a` words of these and of all values, `i` its whole identifier; `k` a key, `v` a key with a value, `c` a category and those
 * above it, `q` the exact identifier, the last four as numbers. Letters and digits only, so that both engines take them as they are.
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
export function listWords(text: string): readonly string[] {
  const words = foldText(text).match(WORD) ?? [];
  return words.map((word) => (word.length > WORD_LENGTH ? word.slice(0, WORD_LENGTH).toWellFormed() : word));
}

function foldText(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const bare = text.normalize('NFKD').replace(MARKS, '').toLowerCase();
  return bare.replace(SPELT_LETTERS, (letter) => SPELT[letter] ?? letter);
}

const BRAND = 'brand';

export function listLexemes(product: UploadedProduct): ReadonlySet<string> {
  const lexemes = new Set<string>();
  let letters = 0;
  const addWords = (words: readonly string[], isHead: boolean) => {
    for (const word of words) {
      letters += word.length;
      if (letters > LETTERS_PER_PRODUCT) return;
      lexemes.add(`a${word}`);
      if (isHead) lexemes.add(`n${word}`);
    }
  };
  const ofIdentifier = listWords(product.identifier);
  const joined = joinWords(ofIdentifier);
  addWords([...ofIdentifier, joined], true);
  addWords(listWords(product.name), true);
  lexemes.add(`i${joined}`).add(lexemeOf.identifier(product.identifier));
  visitCategories(product, (key) => lexemes.add(`c${key.toString(36)}`));
  for (const { key, value } of product.attributes) {
    if (isBlank(value)) continue;
    lexemes.add(lexemeOf.key(key)).add(lexemeOf.value(key, value));
    addWords(listWords(value), key.toLowerCase() === BRAND);
  }
  return lexemes;
}

/** `ABC-123` is found by `ABC123` too. */
export const joinWords = (words: readonly string[]): string =>
  words.join('').slice(0, WORD_LENGTH).toWellFormed();

export const lexemeOf = {
  key: (key: string) => `k${computeValueId(1, key).toString(36)}`,
  value: (key: string, value: string) => `v${computeValueId(2, `${key}\0${value}`).toString(36)}`,
  identifier: (identifier: string) => `q${computeValueId(3, identifier).toString(36)}`,
  category: (path: readonly string[]) => `c${keyOfCategory(path).toString(36)}`,
};
