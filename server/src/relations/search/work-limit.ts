import { ServiceError } from '../../kernel/errors.ts';
import type { StopFlag } from '../../storage/threads/threads.ts';

/** How often work that waits elsewhere is checked. */
const LOOK_EVERY_MS = 100;

/** The time limit of a question, and whether anybody still waits for its answer. */
export class WorkLimit {
  private readonly ms: number;
  private readonly stop: StopFlag | undefined;
  private readonly until: number;

  constructor(ms: number, stop?: StopFlag) {
    this.ms = ms;
    this.stop = stop;
    this.until = performance.now() + ms;
  }

  /** @returns a separate limit for a part of the work */
  within(ms: number): WorkLimit {
    return new WorkLimit(ms, this.stop);
  }

  get leftMs(): number {
    return Math.max(1, Math.ceil(this.until - performance.now()));
  }

  /** Cheap enough to be called before every statement. @throws search_too_long, not_ready */
  check(): void {
    const end = this.findEnd();
    if (end !== undefined) throw end;
  }

  /** @returns why the work has to end now */
  findEnd(): ServiceError | undefined {
    if (this.stop !== undefined && Atomics.load(this.stop, 0) !== 0)
      return new ServiceError('not_ready', { retryAfterSeconds: 1 });
    return performance.now() < this.until ? undefined : this.timeUsedUp();
  }

  timeUsedUp(): ServiceError {
    return new ServiceError('search_too_long', { values: [this.ms / 1000] });
  }

  /** Does work that waits for a database; the signal is aborted with the reason when the limit is reached. */
  async heed<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const ended = new AbortController();
    const timer = setInterval(() => {
      const end = this.findEnd();
      if (end !== undefined) ended.abort(end);
    }, LOOK_EVERY_MS);
    try {
      return await work(ended.signal);
    } finally {
      clearInterval(timer);
    }
  }
}

export const isTooLong = (error: unknown) =>
  error instanceof ServiceError && error.code === 'search_too_long';
