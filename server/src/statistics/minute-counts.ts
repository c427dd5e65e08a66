const MINUTE_MS = 60_000;
/** The maximum number of unwritten counts. During a long outage of the database statistics are discarded. */
const MOST_COUNTS = 50_000;

export type Mutable<Row> = { -readonly [Field in keyof Row]: Row[Field] };

/** Counts per subject and minute in memory, because a write for each request would cost more than most requests. */
export class MinuteCounts<Count> {
  private counts = new Map<string, Mutable<Count>>();

  /** @returns the counts of the current minute, which `begun` creates if there are none */
  of(subject: string, now: number, begun: (beginsAt: number) => Count): Mutable<Count> {
    const minuteAt = now - (now % MINUTE_MS);
    const key = `${subject} ${minuteAt}`;
    if (this.counts.size >= MOST_COUNTS && !this.counts.has(key)) this.counts.clear();
    return this.counts.getOrInsertComputed(key, () => begun(minuteAt));
  }

  take(): Count[] {
    const taken = [...this.counts.values()];
    this.counts = new Map();
    return taken;
  }
}
