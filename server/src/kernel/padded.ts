/**
 * Pads a list to a power of two by repeating its last entry. Lists of different lengths need different statement texts,
 * and every connection prepares every text. Use this only where a repeated entry has no effect.
 * @returns the padded list
 */
export function padToPowerOfTwo<Entry>(list: readonly Entry[]): readonly Entry[] {
  const last = list.at(-1);
  if (last === undefined) return [];
  const length = 2 ** Math.ceil(Math.log2(list.length));
  return [...list, ...Array<Entry>(length - list.length).fill(last)];
}

/** @returns the ids for `in (…)`, which must not be empty; no row has the id 0 */
export const padIds = (ids: readonly number[]): readonly number[] =>
  ids.length === 0 ? [0] : padToPowerOfTwo(ids);
