/** What a question to a thread may take: time, and bytes of its answer. */
import { ServiceError } from '../../kernel/errors.ts';

/** Non-zero: the caller has stopped waiting. Shared with the working thread. */
export type StopFlag = Int32Array<SharedArrayBuffer>;

const MIB = 1024 * 1024;
/** The most bytes of an answer. Source: docs/interface §8. */
const ANSWER_MIB = 32;
/** How often work that waits elsewhere is checked. */
const LOOK_EVERY_MS = 100;

/** What the caller of a thread grants a question. */
export interface BudgetTerms {
  /** Counted from the moment at which the thread begins. */
  readonly ms: number;
  /** The refusal when the time is used up. */
  readonly refusal: 'search_too_long' | 'question_too_long';
}

/** @returns the refusal of a question that took longer than it may */
export const refuseTooLong = ({ ms, refusal }: BudgetTerms): ServiceError =>
  new ServiceError(refusal, {
    values: [ms / 1_000],
    ...(refusal === 'question_too_long' && { retryAfterSeconds: 10 }),
  });

/** Steps and bytes are counted over a whole question, whatever parts it has. */
interface Spent {
  steps: number;
  bytes: number;
}

/**
 * The budget of a question in its thread. Whatever reads a catalog for a question takes it and checks it before
 * each read; loops charge each step, and the writer of the answer charges its bytes.
 */
export class Budget {
  private readonly terms: BudgetTerms;
  private readonly stop: StopFlag | undefined;
  private readonly until: number;
  private readonly spent: Spent;

  constructor(terms: BudgetTerms, stop?: StopFlag) {
    this.terms = terms;
    this.stop = stop;
    this.until = performance.now() + terms.ms;
    this.spent = { steps: 0, bytes: 0 };
  }

  /** For work whose end nobody limits, such as a write: it stops only with its thread. */
  static unlimited(stop?: StopFlag): Budget {
    return new Budget({ ms: Number.POSITIVE_INFINITY, refusal: 'question_too_long' }, stop);
  }

  /** @returns a limit for a part of the work, which ends no later than the whole */
  within(ms: number): Budget {
    const isShorter = performance.now() + ms < this.until;
    const part = new Budget({ ...this.terms, ...(isShorter && { ms }) }, this.stop);
    const { spent, until } = this;
    return Object.assign(part, { spent, ...(!isShorter && { until }) });
  }

  /** Rows read and combinations judged so far. */
  get steps(): number {
    return this.spent.steps;
  }

  get leftMs(): number {
    return Math.max(1, Math.ceil(this.until - performance.now()));
  }

  /** Cheap enough to be called before every statement. @throws search_too_long, question_too_long, not_ready */
  check(): void {
    const end = this.findEnd();
    if (end !== undefined) throw end;
  }

  /** Call it for each step of a loop over what a caller sent or a catalog holds. @throws as `check` */
  charge(steps = 1): void {
    this.spent.steps += steps;
    this.check();
  }

  /** Call it before the bytes are part of an answer. @throws answer_too_large */
  chargeBytes(bytes: number): void {
    this.spent.bytes += bytes;
    if (this.spent.bytes > ANSWER_MIB * MIB)
      throw new ServiceError('answer_too_large', { values: [ANSWER_MIB] });
  }

  /** @returns the part of an answer, whose bytes as JSON are charged @throws answer_too_large */
  measure<Part>(part: Part): Part {
    this.chargeBytes(Buffer.byteLength(JSON.stringify(part)));
    return part;
  }

  /** @returns why the work has to end now */
  findEnd(): ServiceError | undefined {
    if (this.stop !== undefined && Atomics.load(this.stop, 0) !== 0)
      return new ServiceError('not_ready', { retryAfterSeconds: 1 });
    return performance.now() < this.until ? undefined : this.timeUsedUp();
  }

  timeUsedUp(): ServiceError {
    return refuseTooLong(this.terms);
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

  /** @returns the same reads; each checks the budget first, and charges the rows that it returns */
  meter<Reads extends object>(reads: Reads): Reads {
    const metered = Object.entries(reads).map(([name, read]) => [name, this.meterOne(read)]);
    return Object.fromEntries(metered) as Reads;
  }

  private meterOne(read: unknown): unknown {
    if (typeof read !== 'function') return read;
    return async (...input: unknown[]) => {
      this.check();
      const found: unknown = await read(...input);
      this.spent.steps += Array.isArray(found) ? found.length : 1;
      return found;
    };
  }
}

export const isTooLong = (error: unknown) =>
  error instanceof ServiceError && (error.code === 'search_too_long' || error.code === 'question_too_long');
