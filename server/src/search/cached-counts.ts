import { BoundedMap } from '../kernel/bounded-map.ts';

/** How many counts are cached: at most 20 MB in a thread, because a character may take two bytes. */
const CACHED_COUNTS = 10_000;
const LONGEST_KEY = 1_000;

/** Caches counts of hits, for further pages and for searches that many callers repeat. */
export class CachedCounts {
  private readonly counts = new BoundedMap<string, object | number>({ most: CACHED_COUNTS });

  /** @param key names the count and the state in which it is counted */
  async find<Count extends object | number>(key: string, count: () => Promise<Count>): Promise<Count> {
    const cached = this.counts.get(key);
    if (cached !== undefined) return cached as Count;
    const counted = await count();
    if (key.length <= LONGEST_KEY) this.counts.set(key, counted);
    return counted;
  }
}
