import { createHash } from 'node:crypto';

/** Compares names of attributes in the way in which people would read them. */

/**
 * @returns the words of a name in lower case without accents. They are the same for `maxWidth`, `Max. width`
 * and `MAX_WIDTH`.
 */
export function wordsOf(name: string): string[] {
  return name
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

/** @returns the same text for names that differ only in case, separators and word order */
export const foldName = (name: string): string => wordsOf(name).toSorted().join(' ');

/** Shorter names are not compared, because many of them differ by only one letter. */
const SHORTEST = 4;

/**
 * Whether the folded names differ by one added, missing or changed letter, or by two swapped letters: colour,
 * fibre.
 */
export function isNear(a: string, b: string): boolean {
  if (a === b || Math.min(a.length, b.length) < SHORTEST) return false;
  if (Math.abs(a.length - b.length) > 1 || digitsOf(a) !== digitsOf(b)) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  let end = 0;
  const most = Math.min(a.length, b.length) - start;
  while (end < most && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const isSwapped = left.length === 2 && left[0] === right[1] && left[1] === right[0];
  return isSwapped || Math.max(left.length, right.length) <= 1;
}

const digitsOf = (name: string) => name.replaceAll(/\D/g, '');

/** A limit that the name of an attribute states. */
export interface NamedLimit {
  readonly bound: 'most' | 'least';
  /** The limited quantity in the form of `foldName`; '' if the name states only the limit. */
  readonly of: string;
}

const LIMITS = {
  most: /^(?:max|maximum|maximal\p{L}{0,2})$/u,
  least: /^(?:min|minimum|minimal\p{L}{0,2})$/u,
};
/** German compounds such as Höchstgewicht and Mindestbreite. */
const COMPOUND = /^(?:(maximal|hochst)|(minimal|mindest))(\p{L}{3,})$/u;

/** @returns undefined if the name does not state a limit */
export function readLimit(name: string): NamedLimit | undefined {
  const words = wordsOf(name);
  const bound = (['most', 'least'] as const).find((limitBound) =>
    words.some((word) => LIMITS[limitBound].test(word)),
  );
  if (bound !== undefined) {
    const quantityWords = words.filter((word) => !LIMITS[bound].test(word));
    return { bound, of: quantityWords.toSorted().join(' ') };
  }
  const compound = COMPOUND.exec(words.join(' '));
  return compound
    ? { bound: compound[1] === undefined ? 'least' : 'most', of: compound[3] ?? '' }
    : undefined;
}

/** @returns an id derived from the subject, so that it remains the same when the counts change */
export const idOf = (kind: string, subject: unknown): string =>
  `${kind}-${createHash('sha256').update(JSON.stringify(subject)).digest('hex').slice(0, 16)}`;
