/** At most 20 MB a thread, as a character may take two bytes. */
const KEPT_COUNTS = 10_000;
const LONGEST_KEY = 1_000;

/** Counts of hits, for the next pages and for what many callers search for. */
export class KeptCounts {
  private readonly counts = new Map<string, unknown>();

  /** @param key names what is counted, and the state that it is counted in */
  async find<Count>(key: string, count: () => Promise<Count>): Promise<Count> {
    if (this.counts.has(key)) return this.counts.get(key) as Count;
    const made = await count();
    if (this.counts.size >= KEPT_COUNTS) this.counts.clear();
    if (key.length <= LONGEST_KEY) this.counts.set(key, made);
    return made;
  }
}
