import type { Clock } from '../kernel/clock.ts';

/**
 * Another process may have changed a row: what this one remembers of it is trusted this long and no longer.
 */
const MAX_AGE_MS = 1_000;

/**
 * Rows that every request needs, remembered for at most a second and dropped by the writes of this process.
 */
export interface ShortCache<Key, Value> {
  /** Misses are not cached, so that unknown keys cost no memory. */
  get(key: Key, read: () => Promise<Value | undefined>): Promise<Value | undefined>;
  drop(): void;
}

export function createShortCache<Key, Value>(clock: Clock, maxEntries: number): ShortCache<Key, Value> {
  const entries = new Map<Key, { readonly value: Value; readonly readAt: number }>();
  let drops = 0;

  function remember(key: Key, value: Value, readAt: number): void {
    entries.delete(key);
    entries.set(key, { value, readAt });
    const oldest = entries.keys().next();
    if (entries.size > maxEntries && !oldest.done) entries.delete(oldest.value);
  }

  return {
    async get(key, read) {
      const now = clock.now();
      const known = entries.get(key);
      if (known !== undefined && now >= known.readAt && now - known.readAt < MAX_AGE_MS) return known.value;
      const dropsBefore = drops;
      const value = await read();
      // A write that ended during the read has made this value old.
      if (value !== undefined && dropsBefore === drops) remember(key, value, now);
      return value;
    },
    drop() {
      drops += 1;
      entries.clear();
    },
  };
}
