/** Waiting work. The work of one part of an owner runs in the order of its arrival. */
interface Owned {
  readonly owner: number;
  /** Of all owners' parts no two share a number. */
  readonly part?: number;
}

/** Takes turns by owner, and each owner by part: the one served longest ago is next, however much work others have waiting. */
export class FairQueue<Work extends Owned> {
  private waiting: Work[] = [];
  private readonly served = new Map<number, number>();
  private readonly servedParts = new Map<number, number>();
  private turn = 0;

  add(work: Work): void {
    this.waiting.push(work);
  }

  /** @returns the next work; undefined when none may start */
  take(mayBegin: (work: Work) => boolean): Work | undefined {
    let next: Work | undefined;
    for (const work of this.waiting) {
      if ((next === undefined || this.isSooner(work, next)) && mayBegin(work)) next = work;
    }
    if (next === undefined) return undefined;
    this.drop(next);
    this.turn += 1;
    this.served.set(next.owner, this.turn);
    if (next.part !== undefined) this.servedParts.set(next.part, this.turn);
    return next;
  }

  private isSooner(one: Work, other: Work): boolean {
    const servedAt = ({ owner }: Work) => this.served.get(owner) ?? 0;
    const partServedAt = ({ part = 0 }: Work) => this.servedParts.get(part) ?? 0;
    return (servedAt(one) - servedAt(other) || partServedAt(one) - partServedAt(other)) < 0;
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
