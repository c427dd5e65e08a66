/** Words that may have been meant. Source: docs/interface.md §4.13 rule 4. */

/** Model numbers differ in one character, so only words consisting of letters are forgiven. */
const LETTERS = /^\p{L}{3,64}$/u;
/** Nearest first; keeps groups of lexemes short. */
const MEANT = 50;

/** How many typing errors are forgiven in a word. */
export const errorsOf = (word: string): number => {
  if (word.length < 4 || !LETTERS.test(word)) return 0;
  return word.length < 8 ? 1 : 2;
};

/**
 * Patterns of `like`, one of which each word with so few errors matches: of pieces of the word, with a letter between two of
 * them, an error touches at most one, also as two letters swapped. Of 17,582 words of a million products 702 are so compared.
 */
export function listPatterns(word: string): string[] {
  const letters = [...word];
  const most = errorsOf(word);
  const length = Math.ceil((letters.length - most) / (most + 1));
  return Array.from({ length: most + 1 }, (_, at) => {
    const start = at * (length + 1);
    return `${at === 0 ? '' : '%'}${letters.slice(start, start + length).join('')}${at === most ? '' : '%'}`;
  });
}

/** Whether a word of a product may be the meaning of a question with typing errors. */
export const isForgivable = (word: string): boolean => LETTERS.test(word);

/** @returns the words, nearest first, that differ from the given one by at most the forgiven errors; not itself */
export function listMeant(word: string, known: Iterable<string>): string[] {
  const most = errorsOf(word);
  const near: { readonly word: string; readonly errors: number }[] = [];
  for (const one of known) {
    if (one === word || one[0] !== word[0] || Math.abs(one.length - word.length) > most) continue;
    const errors = countErrors(word, one, most);
    if (errors <= most) near.push({ word: one, errors });
  }
  near.sort((a, b) => a.errors - b.errors || (a.word < b.word ? -1 : 1));
  return [...new Set(near.map((one) => one.word))].slice(0, MEANT);
}

/**
 * The Damerau-Levenshtein distance: letters inserted, removed, replaced, or swapped with the next one. Stops
 * counting above `most`.
 */
export function countErrors(a: string, b: string, most: number): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = at(last, j - 1) + Number(a[i - 1] !== b[j - 1]);
      const isExchanged = j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const exchanged = isExchanged ? at(before, j - 2) + 1 : replaced;
      row.push(Math.min(at(last, j) + 1, at(row, j - 1) + 1, replaced, exchanged));
    }
    if (Math.min(...row) > most) return most + 1;
    [before, last] = [last, row];
  }
  return at(last, b.length);
}

const at = (row: readonly number[], place: number) => row[place] ?? Number.POSITIVE_INFINITY;
