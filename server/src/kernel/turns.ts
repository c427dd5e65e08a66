import { FairQueue } from './fair-queue.ts';

/** Runs so many works at a time; the others wait, owners in turn, the first of each that came first. */
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
