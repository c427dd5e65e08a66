import { OpenCounts } from './open-counts.ts';

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

  count(owner?: number): number {
    return this.waiting.filter((work) => owner === undefined || work.owner === owner).length;
  }

  dropAll(): Work[] {
    const dropped = this.waiting;
    this.waiting = [];
    return dropped;
  }
}

/** Runs so many works at a time, of an owner fewer; the others wait, owners in turn, the first of each that came first. */
export class Turns {
  readonly #atOnce: number;
  readonly #ofOwner: number;
  readonly #queue = new FairQueue<{ readonly owner: number; begin(): void }>();
  readonly #running = new OpenCounts<number>();

  constructor(atOnce: number, ofOwner = atOnce) {
    this.#atOnce = atOnce;
    this.#ofOwner = ofOwner;
  }

  /** @returns how many works wait, of one owner where it is given */
  countWaiting(owner?: number): number {
    return this.#queue.count(owner);
  }

  isFull(owner: number): boolean {
    return this.#running.of(owner) >= this.#ofOwner;
  }

  hasRoom(owner: number): boolean {
    return this.#running.all() < this.#atOnce && !this.isFull(owner);
  }

  /** @param signal  ends the wait with its reason */
  async take<Result>(work: () => Promise<Result>, owner = 0, signal?: AbortSignal): Promise<Result> {
    const end = this.hasRoom(owner) ? this.#running.begin(owner) : await this.#wait(owner, signal);
    try {
      return await work();
    } finally {
      end();
      this.#queue.take((next) => this.hasRoom(next.owner))?.begin();
    }
  }

  /** @returns what ends the work that may begin now */
  async #wait(owner: number, signal: AbortSignal | undefined): Promise<() => void> {
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const waiting = { owner, begin: () => resolve(this.#running.begin(owner)) };
    const leave = () => {
      this.#queue.drop(waiting);
      reject(signal?.reason);
    };
    this.#queue.add(waiting);
    signal?.addEventListener('abort', leave, { once: true });
    return promise.finally(() => signal?.removeEventListener('abort', leave));
  }
}
