/** Waiting work. The work of one part of an owner runs in order of arrival. */
interface Owned {
  readonly owner: number;
  /** No two owners have a part with the same number. */
  readonly part?: number;
}

/**
 * Takes turns by owner, and within an owner by part. The owner or part that was served longest ago is next, however
 * much work the others have.
 */
export class FairQueue<Work extends Owned> {
  private waiting: Work[] = [];
  private readonly served = new Map<number, number>();
  private readonly servedParts = new Map<number, number>();
  private turn = 0;

  add(work: Work): void {
    this.waiting.push(work);
  }

  /** @returns the next work; undefined if none may begin */
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

  private isSooner(first: Work, second: Work): boolean {
    const servedAt = ({ owner }: Work) => this.served.get(owner) ?? 0;
    const partServedAt = ({ part = 0 }: Work) => this.servedParts.get(part) ?? 0;
    return (servedAt(first) - servedAt(second) || partServedAt(first) - partServedAt(second)) < 0;
  }

  /** @returns whether the work was waiting */
  drop(work: Work): boolean {
    const index = this.waiting.indexOf(work);
    if (index >= 0) this.waiting.splice(index, 1);
    return index >= 0;
  }

  dropAll(): Work[] {
    const dropped = this.waiting;
    this.waiting = [];
    return dropped;
  }
}

/**
 * Limits how many pieces of work run at a time. The others wait: owners take turns, and the work of an owner runs in
 * order of arrival.
 */
export class Turns {
  readonly #atOnce: number;
  readonly #queue = new FairQueue<{ readonly owner: number; begin(): void }>();
  #waiting = 0;
  #running = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  get waiting(): number {
    return this.#waiting;
  }

  async take<Result>(work: () => Promise<Result>, owner = 0): Promise<Result> {
    if (this.#running < this.#atOnce) this.#running += 1;
    else {
      this.#waiting += 1;
      await new Promise<void>((begin) => this.#queue.add({ owner, begin }));
      this.#waiting -= 1;
    }
    try {
      return await work();
    } finally {
      const next = this.#queue.take(() => true);
      if (next === undefined) this.#running -= 1;
      else next.begin();
    }
  }
}
