/** Waiting work. The work of one owner runs in the order of its arrival. */
interface Owned {
  readonly owner: number;
}

/** Takes turns by owner: the one served longest ago is next, however much work others have waiting. */
export class FairQueue<Work extends Owned> {
  private waiting: Work[] = [];
  private readonly served = new Map<number, number>();
  private turn = 0;

  add(work: Work): void {
    this.waiting.push(work);
  }

  /** @returns the next work; undefined when none may start */
  take(mayBegin: (work: Work) => boolean): Work | undefined {
    let next: Work | undefined;
    let longest = Number.POSITIVE_INFINITY;
    for (const work of this.waiting) {
      const served = this.served.get(work.owner) ?? 0;
      if (served >= longest || !mayBegin(work)) continue;
      next = work;
      longest = served;
    }
    if (next === undefined) return undefined;
    this.drop(next);
    this.turn += 1;
    this.served.set(next.owner, this.turn);
    return next;
  }

  drop(work: Work): void {
    const at = this.waiting.indexOf(work);
    if (at >= 0) this.waiting.splice(at, 1);
  }

  dropAll(): Work[] {
    const dropped = this.waiting;
    this.waiting = [];
    return dropped;
  }
}
