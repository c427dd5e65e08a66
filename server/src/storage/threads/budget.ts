/** The limits of a question to a thread: its time, and the bytes of its answer. */
import { ServiceError } from '../../kernel/errors.ts';

/** Non-zero if the caller has stopped waiting. It is shared with the working thread. */
export type StopFlag = Int32Array<SharedArrayBuffer>;

const MIB = 1024 * 1024;
/** The most bytes of an answer. Source: docs/interface §8. */
const ANSWER_MIB = 32;
/** How often the budget is checked while the work waits for a database. */
const LOOK_EVERY_MS = 100;

/** The limits that the caller sets for a question. */
export interface BudgetTerms {
  /** The time limit in ms, counted from the moment when the thread begins. */
  readonly ms: number;
  /** The code of the refusal when the time is used up. */
  readonly refusal: 'search_too_long' | 'question_too_long';
}

/** @returns the refusal of a question that took too long */
export const refuseTooLong = ({ ms, refusal }: BudgetTerms): ServiceError =>
  new ServiceError(refusal, {
    values: [ms / 1_000],
    ...(refusal === 'question_too_long' && { retryAfterSeconds: 10 }),
  });

/** Steps and bytes are counted over a whole question, including all its parts. */
interface Spent {
  steps: number;
  bytes: number;
}

/**
 * The budget of a question in its thread. Code that reads a catalog for a question checks the budget before each read.
 * Loops charge each step, and the writer of the answer charges its bytes.
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

  /** A budget for work without a limit, such as a write. It stops only with its thread. */
  static unlimited(stop?: StopFlag): Budget {
    return new Budget({ ms: Number.POSITIVE_INFINITY, refusal: 'question_too_long' }, stop);
  }

  /** @returns a budget for a part of the work; it ends no later than the whole */
  within(ms: number): Budget {
    const isShorter = performance.now() + ms < this.until;
    const part = new Budget({ ...this.terms, ...(isShorter && { ms }) }, this.stop);
    const { spent, until } = this;
    return Object.assign(part, { spent, ...(!isShorter && { until }) });
  }

  /** The number of rows read and combinations judged so far. */
  get steps(): number {
    return this.spent.steps;
  }

  get leftMs(): number {
    return Math.max(1, Math.ceil(this.until - performance.now()));
  }

  /**
   * Cheap enough to be called before every statement.
   * @throws search_too_long, question_too_long, not_ready
   */
  check(): void {
    const end = this.findEnd();
    if (end !== undefined) throw end;
  }

  /**
   * Call this for each step of a loop over the values of a caller or of a catalog.
   * @throws as `check`
   */
  charge(steps = 1): void {
    this.spent.steps += steps;
    this.check();
  }

  /**
   * Call this before the bytes become part of an answer.
   * @throws answer_too_large
   */
  chargeBytes(bytes: number): void {
    this.spent.bytes += bytes;
    if (this.spent.bytes > ANSWER_MIB * MIB)
      throw new ServiceError('answer_too_large', { values: [ANSWER_MIB] });
  }

  /**
   * Charges the bytes that a part of an answer has as JSON.
   * @returns the part
   * @throws answer_too_large
   */
  measure<Part>(part: Part): Part {
    this.chargeBytes(Buffer.byteLength(JSON.stringify(part)));
    return part;
  }

  /** @returns why the work must end now; undefined if it may continue */
  findEnd(): ServiceError | undefined {
    if (this.stop !== undefined && Atomics.load(this.stop, 0) !== 0)
      return new ServiceError('not_ready', { retryAfterSeconds: 1 });
    return performance.now() < this.until ? undefined : this.timeUsedUp();
  }

  timeUsedUp(): ServiceError {
    return refuseTooLong(this.terms);
  }

  /** Runs work that waits for a database. The signal aborts with the reason when the budget is used up. */
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

  /** @returns reads that check the budget first and charge the rows that they return */
  meter<Reads extends object>(reads: Reads): Reads {
    const metered = Object.entries(reads).map(([name, read]) => [name, this.meterOne(read)]);
    return Object.fromEntries(metered) as Reads;
  }

  private meterOne(read: unknown): unknown {
    if (typeof read !== 'function') return read;
    return async (...input: unknown[]) => {
      this.check();
      const result: unknown = await read(...input);
      this.spent.steps += Array.isArray(result) ? result.length : 1;
      return result;
    };
  }
}

export const isTooLong = (error: unknown) =>
  error instanceof ServiceError && (error.code === 'search_too_long' || error.code === 'question_too_long');
