/**
 * A list in a statement makes a different text for each length, and every text is prepared on every
 * connection. Padded, there is one for each power of two.
 * @returns the list with its last entry repeated; only for statements in which repetition has no effect
 */
export function padToPowerOfTwo<Entry>(list: readonly Entry[]): readonly Entry[] {
  const last = list.at(-1);
  if (last === undefined) return [];
  const length = 2 ** Math.ceil(Math.log2(list.length));
  return [...list, ...Array<Entry>(length - list.length).fill(last)];
}

/** @returns the ids for `in (…)`, which cannot be empty: no row has the id 0 */
export const padIds = (ids: readonly number[]): readonly number[] =>
  ids.length === 0 ? [0] : padToPowerOfTwo(ids);
