import { findBase, findLast, type HeldLease, type Lease, type Span } from '../timeline/timeline.ts';

/** How far a stream has sent, and on which objects its next segment builds. */
export class StreamPosition {
  /** The number of the last segment. After a loss it is one higher, because no segment leads across the loss. */
  seq = 0;
  /** The last segment that was written. */
  sent: Lease['sent'];
  /** The leases before this one. They do not change any more. */
  leases: readonly HeldLease[] = [];
  /** The base with which a restore of the last segment begins. */
  base: Span | undefined;
  needsBase = false;
  /** Whether no object in the target leads to the next changes, so that a base is needed. */
  isAfresh = false;
  /** Changes after the last segment are lost, so the next segment does not follow it. */
  isLost = false;
  /** The highest number that a segment may have received. */
  private attempts = 0;

  /** The last segment whose state the target has. The number that a loss took has no segment. */
  get reached(): number {
    return this.isLost ? this.seq - 1 : this.seq;
  }

  /** A segment whose answer is lost may have arrived, so no other segment gets its number. */
  takeNumber(): number {
    this.attempts = Math.max(this.attempts, this.seq) + 1;
    return this.attempts;
  }

  /**
   * Everything that was sent must be in the target, because later objects build on it.
   * @param line the objects in the target that lead to this lease
   * @param localSeq the last segment that the directory has recorded
   * @returns a description of the missing objects; undefined if none is missing
   */
  continueFrom(line: readonly Span[], held: HeldLease, localSeq: number): string | undefined {
    const last = findLast(line);
    const present = Math.max(held.from, last?.to ?? 0);
    const sentUpTo = Math.max(this.seq, held.sent?.to ?? 0, localSeq);
    const isMissing = sentUpTo > present && !this.isLost;
    this.isLost ||= isMissing;
    this.sent = last && { to: last.to, at: last.at };
    // No segment leads across a loss.
    this.seq = Math.max(present, sentUpTo) + Number(this.isLost);
    this.base = this.isLost ? undefined : findBase(line, this.seq);
    return isMissing
      ? `segments up to number ${sentUpTo} are missing; the last one is ${present}`
      : undefined;
  }

  /** The changes since the last segment will not be sent, so a base has to follow. */
  lose(): void {
    this.isLost = true;
    this.needsBase = true;
    // No segment leads across the loss.
    this.seq += 1;
  }

  noteSent(to: number, instant: number): void {
    this.seq = to;
    this.sent = { to, at: instant };
    this.isLost = false;
  }
}
