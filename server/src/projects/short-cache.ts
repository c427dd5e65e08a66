import type { AtOnce } from '../kernel/at-once.ts';
import { BoundedMap } from '../kernel/bounded-map.ts';
import type { Clock } from '../kernel/clock.ts';

/** How long a cached row is used, because another process may have changed it. */
const MAX_AGE_MS = 1_000;

export type ShortCache<Key, Value> = ReturnType<typeof createShortCache<Key, Value>>;

/** Caches rows that every request needs, for at most a second. A write by this process clears the cache. */
export function createShortCache<Key, Value>(clock: Clock, maxEntries: number) {
  const entries = new BoundedMap<Key, { readonly value: Value; readonly readAt: number }>({
    most: maxEntries,
  });
  let drops = 0;

  async function readNow(key: Key, read: () => Promise<Value | undefined>, now: number) {
    const dropsBefore = drops;
    const value = await read();
    // A write that ended during the read may have made this value stale.
    if (value !== undefined && dropsBefore === drops) entries.set(key, { value, readAt: now });
    return value;
  }

  return {
    /** Does not cache misses, so that unknown keys need no memory. @returns a promise if the value is not cached */
    get(key: Key, read: () => Promise<Value | undefined>): AtOnce<Value | undefined> {
      const now = clock.now();
      const cached = entries.get(key);
      const isFresh = cached !== undefined && now >= cached.readAt && now - cached.readAt < MAX_AGE_MS;
      return isFresh ? cached.value : readNow(key, read, now);
    },
    drop(): void {
      drops += 1;
      entries.clear();
    },
  };
}
