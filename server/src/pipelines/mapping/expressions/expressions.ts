/**
 * Evaluates the expressions of a mapping in a process without rights (`expression-process.ts`), row by row, bounded
 * in time and memory. A row whose expressions run away is answered with the reason; the process, if it was lost, is
 * replaced and the rows behind it go on.
 */

import { MappingProblem } from '../mapping-columns.ts';
import { type PatternReading, TEXT_LENGTH } from '../mapping-patterns.ts';
import { type Child, type Lost, startChild } from './expression-child.ts';

export { type Child, startChild } from './expression-child.ts';

/** What an expression gives for a row. */
export type ExpressionResult =
  | null
  | boolean
  | string
  | readonly string[]
  | { readonly problem: string; readonly isRunaway?: boolean };

export interface LoadExpressions {
  readonly load: readonly string[];
  readonly limits: { readonly rowMs: number; readonly textLength: number; readonly listLength: number };
}

/** Compiled one after another until they take more steps. */
export interface ReadPatterns {
  readonly patterns: readonly string[];
  readonly maxSteps: number;
}

export type ToProcess = LoadExpressions | ReadPatterns | { readonly rows: readonly unknown[] };

export type FromProcess =
  | { readonly isReady: true }
  | { readonly loaded: readonly (string | null)[] }
  /** Of the next pattern; then that there are no more. */
  | { readonly pattern: PatternReading }
  | { readonly isRead: true }
  /** Of the next rows, in their order. */
  | { readonly results: readonly (readonly ExpressionResult[])[] };

export interface ExpressionLimits {
  /** All expressions of one row together. */
  readonly rowMs: number;
  /** What the process may use for values; Node itself needs 40 MiB beside it. */
  readonly memoryMib: number;
  /** So many rows may run away before the rest is given up: each costs time that other work needs. */
  readonly runaways: number;
}

export const EXPRESSION_LIMITS: ExpressionLimits = { rowMs: 1_000, memoryMib: 96, runaways: 50 };

const LIST_LENGTH = 10_000;

export interface Expressions {
  /**
   * @returns for each row what each expression gives
   * @throws MappingProblem when too many rows ran away
   */
  evaluate(rows: readonly unknown[]): Promise<readonly (readonly ExpressionResult[])[]>;
  close(): Promise<void>;
}

/** The process starts with the first rows and lives until `close`, or until `signal` ends it and what waits for it. */
export function openExpressions(
  expressions: readonly string[],
  { limits = EXPRESSION_LIMITS, signal }: ExpressionOptions = {},
): Expressions {
  const run = new ExpressionRun(expressions, limits, signal);
  const stop = () => void run.close();
  signal?.addEventListener('abort', stop, { once: true });
  return {
    evaluate: (rows) => run.evaluate(rows),
    async close() {
      signal?.removeEventListener('abort', stop);
      await run.close();
    },
  };
}

export interface ExpressionOptions {
  readonly limits?: ExpressionLimits;
  readonly signal?: AbortSignal | undefined;
}

interface Answer {
  readonly results: ExpressionResult[][];
  /** The process was lost in the row behind these. */
  readonly lost?: Lost['lost'];
}

const LOST: Readonly<Record<Lost['lost'], string>> = {
  time: 'the expression takes too long',
  memory: 'the expression needs too much memory',
};

class ExpressionRun {
  readonly #expressions: readonly string[];
  readonly #limits: ExpressionLimits;
  readonly #signal: AbortSignal | undefined;
  #child: Child | undefined;
  #runaways = 0;

  constructor(expressions: readonly string[], limits: ExpressionLimits, signal: AbortSignal | undefined) {
    this.#expressions = expressions;
    this.#limits = limits;
    this.#signal = signal;
  }

  async evaluate(rows: readonly unknown[]): Promise<ExpressionResult[][]> {
    const done: ExpressionResult[][] = [];
    while (done.length < rows.length) {
      const { results, lost } = await this.#ask(rows.slice(done.length));
      done.push(...results);
      if (lost !== undefined) done.push(...(await this.#findCulprit(rows.slice(done.length))));
    }
    return done;
  }

  async close(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    await child?.close();
  }

  /** Which of several rows it was is not known, so they go one by one until it happens again. */
  async #findCulprit(rows: readonly unknown[]): Promise<ExpressionResult[][]> {
    const done: ExpressionResult[][] = [];
    for (const row of rows) {
      const { results, lost } = await this.#ask([row]);
      done.push(...results);
      if (lost === undefined) continue;
      const culprit = this.#expressions.map(() => ({ problem: LOST[lost], isRunaway: true }));
      this.#countRunaways([culprit]);
      return [...done, culprit];
    }
    return done;
  }

  async #ask(rows: readonly unknown[]): Promise<Answer> {
    this.#signal?.throwIfAborted();
    const results: ExpressionResult[][] = [];
    try {
      for await (const message of (await this.#getChild()).ask({ rows })) {
        if ('results' in message) results.push(...(message.results as ExpressionResult[][]));
        if (results.length >= rows.length) break;
      }
      this.#countRunaways(results);
      return { results };
    } catch (error) {
      this.#signal?.throwIfAborted();
      await this.close();
      if (!isLost(error)) throw error;
      return { results, lost: error.lost };
    }
  }

  async #getChild(): Promise<Child> {
    if (this.#child !== undefined) return this.#child;
    this.#child = startChild(this.#limits);
    const problem = (await loadExpressions(this.#child, this.#expressions, this.#limits)).find(
      (one) => one !== null,
    );
    if (typeof problem === 'string') throw new MappingProblem(problem);
    return this.#child;
  }

  #countRunaways(results: readonly (readonly ExpressionResult[])[]): void {
    this.#runaways += results.filter((row) => row.some(isRunaway)).length;
    if (this.#runaways <= this.#limits.runaways) return;
    throw new MappingProblem(
      `The expressions took too long or needed too much memory in more than ${this.#limits.runaways} rows`,
    );
  }
}

export const isLost = (error: unknown): error is Lost => error instanceof Error && 'lost' in error;

function isRunaway(result: ExpressionResult): boolean {
  return typeof result === 'object' && result !== null && 'isRunaway' in result && result.isRunaway === true;
}

/** @returns for each expression what is wrong with it; null where nothing is. @throws Lost */
export async function loadExpressions(
  child: Child,
  expressions: readonly string[],
  { rowMs }: ExpressionLimits,
): Promise<readonly (string | null)[]> {
  const limits = { rowMs, textLength: TEXT_LENGTH, listLength: LIST_LENGTH };
  for await (const message of child.ask({ load: expressions, limits })) {
    if ('loaded' in message) return message.loaded;
  }
  return [];
}
