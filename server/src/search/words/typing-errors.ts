/** Words that a search with typing errors may mean. Source: docs/interface §4.13 rule 4. */

/** Errors are forgiven only in words of letters, because model numbers differ in one character. */
const LETTERS = /^\p{L}{3,64}$/u;
/** How many of the nearest words are used, so that groups of lexemes stay short. */
const MEANT = 50;

/** @returns how many typing errors are forgiven in a word */
export const errorsOf = (word: string): number => {
  if (word.length < 4 || !LETTERS.test(word)) return 0;
  return word.length < 8 ? 1 : 2;
};

/**
 * Patterns of `like`. Every word with at most the forgiven errors matches one of them. The word is cut into pieces
 * with a letter between two pieces, so that an error, such as two swapped letters, changes at most one piece. Of the
 * 17,582 words of a million products, 702 match and are compared.
 */
export function listPatterns(word: string): string[] {
  const letters = [...word];
  const most = errorsOf(word);
  const length = Math.ceil((letters.length - most) / (most + 1));
  return Array.from({ length: most + 1 }, (_, index) => {
    const start = index * (length + 1);
    return `${index === 0 ? '' : '%'}${letters.slice(start, start + length).join('')}${index === most ? '' : '%'}`;
  });
}

/** @returns whether typing errors are forgiven in a word of this form */
export const isForgivable = (word: string): boolean => LETTERS.test(word);

interface NearWord {
  readonly word: string;
  readonly errors: number;
}

/**
 * The words that differ from a given word by at most the forgiven errors; the nearest ones if there are more than
 * MEANT.
 */
export class NearestWords {
  private readonly word: string;
  private readonly most: number;
  private near: NearWord[] = [];

  constructor(word: string) {
    this.word = word;
    this.most = errorsOf(word);
  }

  add(other: string): void {
    const { word, most, near } = this;
    if (other === word || other[0] !== word[0] || Math.abs(other.length - word.length) > most) return;
    const errors = countErrors(word, other, most);
    if (errors > most || near.some((nearWord) => nearWord.word === other)) return;
    near.push({ word: other, errors });
    // Sorts only occasionally, so that a vocabulary of similar words takes little time and memory.
    if (near.length > 2 * MEANT) this.near = this.sort();
  }

  /** @returns the words, nearest first */
  list(): string[] {
    return this.sort().map((nearWord) => nearWord.word);
  }

  private sort(): NearWord[] {
    return this.near.sort((a, b) => a.errors - b.errors || (a.word < b.word ? -1 : 1)).slice(0, MEANT);
  }
}

/**
 * @returns the Damerau-Levenshtein distance: letters inserted, removed, replaced, or swapped with the next one;
 * counting stops above `most`
 */
export function countErrors(a: string, b: string, most: number): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = cellAt(last, j - 1) + Number(a[i - 1] !== b[j - 1]);
      const isExchanged = j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const exchanged = isExchanged ? cellAt(before, j - 2) + 1 : replaced;
      row.push(Math.min(cellAt(last, j) + 1, cellAt(row, j - 1) + 1, replaced, exchanged));
    }
    if (Math.min(...row) > most) return most + 1;
    [before, last] = [last, row];
  }
  return cellAt(last, b.length);
}

const cellAt = (row: readonly number[], index: number) => row[index] ?? Number.POSITIVE_INFINITY;
