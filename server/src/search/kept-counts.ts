import { BoundedMap } from '../kernel/bounded-map.ts';

/** At most 20 MB in a thread, because a character may take two bytes. */
const KEPT_COUNTS = 10_000;
const LONGEST_KEY = 1_000;

/** Caches counts of hits, for further pages and for searches that many callers repeat. */
export class KeptCounts {
  private readonly counts = new BoundedMap<string, object | number>({ most: KEPT_COUNTS });

  /** @param key names the count and the state in which it is counted */
  async find<Count extends object | number>(key: string, count: () => Promise<Count>): Promise<Count> {
    const known = this.counts.get(key);
    if (known !== undefined) return known as Count;
    const made = await count();
    if (key.length <= LONGEST_KEY) this.counts.set(key, made);
    return made;
  }
}
