/** How long an owner counts as active after its last operation. The pauses of a busy caller are shorter. */
const RECENT_MS = 5_000;

/** Limits the threads of a pool that one owner may use at a time. An owner is a key, or its account. */
export class OwnerShares {
  private readonly size: number;
  private readonly share: number | undefined;
  /** The owner whose operation began last, and the last other owner. */
  private begun: readonly { readonly owner: number; readonly begunAt: number }[] = [];

  /** @param share the most threads of one owner; undefined means all */
  constructor(size: number, share: number | undefined) {
    this.size = size;
    this.share = share;
  }

  noteBegun(owner: number): void {
    const lastOther = this.begun.find((start) => start.owner !== owner);
    this.begun = [{ owner, begunAt: performance.now() }, ...(lastOther === undefined ? [] : [lastOther])];
  }

  /**
   * Halves the share while another owner is active, because a free thread alone does not help if this owner keeps all
   * cores busy.
   */
  shareOf(owner: number): number {
    if (this.share === undefined) return this.size;
    const now = performance.now();
    const hasOthers = this.begun.some((start) => start.owner !== owner && now - start.begunAt < RECENT_MS);
    return hasOthers ? Math.ceil(this.share / 2) : this.share;
  }
}
