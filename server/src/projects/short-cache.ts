import type { AtOnce } from '../kernel/at-once.ts';
import { BoundedMap } from '../kernel/bounded-map.ts';
import type { Clock } from '../kernel/clock.ts';

/** Another process may have changed a row, so remembered ones are trusted no longer than this. */
const MAX_AGE_MS = 1_000;

export type ShortCache<Key, Value> = ReturnType<typeof createShortCache<Key, Value>>;

/** Rows that every request needs, remembered for at most a second and dropped by the writes of this process. */
export function createShortCache<Key, Value>(clock: Clock, maxEntries: number) {
  const entries = new BoundedMap<Key, { readonly value: Value; readonly readAt: number }>({
    most: maxEntries,
  });
  let drops = 0;

  async function readNow(key: Key, read: () => Promise<Value | undefined>, now: number) {
    const dropsBefore = drops;
    const value = await read();
    // A write that ended during the read has made this value stale.
    if (value !== undefined && dropsBefore === drops) entries.set(key, { value, readAt: now });
    return value;
  }

  return {
    /** Misses are not cached, so that unknown keys cost no memory. @returns a promise if it is not remembered */
    get(key: Key, read: () => Promise<Value | undefined>): AtOnce<Value | undefined> {
      const now = clock.now();
      const known = entries.get(key);
      const isFresh = known !== undefined && now >= known.readAt && now - known.readAt < MAX_AGE_MS;
      return isFresh ? known.value : readNow(key, read, now);
    },
    drop(): void {
      drops += 1;
      entries.clear();
    },
  };
}
