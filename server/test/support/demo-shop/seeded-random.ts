import assert from 'node:assert/strict';

/** A random source that gives the same sequence for the same seed. */
export interface SeededRandom {
  /** True for about `share` (0 to 1) of all calls. */
  chance(share: number): boolean;
  /** A whole number of steps above `from`, at most `to`. */
  between(from: number, to: number, step?: number): number;
  pick<T>(choices: readonly T[]): T;
}

/** Starts the sequence of a seed: FNV-1a hashes the text, Mulberry32 makes the numbers. */
export function createSeededRandom(seed: string): SeededRandom {
  let state = hashText(seed);
  const nextFraction = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    chance: (share) => nextFraction() < share,
    between: (from, to, step = 1) =>
      from + step * Math.floor(nextFraction() * (Math.floor((to - from) / step) + 1)),
    pick: (choices) => cycle(choices, Math.floor(nextFraction() * choices.length)),
  };
}

/** The element at `index` of the endlessly repeated list. */
export function cycle<T>(list: readonly T[], index: number): T {
  assert(list.length > 0, 'an empty list has no element to give');
  return list[index % list.length] as T;
}

function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}
