import { type ExpressionResult, MappingProblem } from '../mapping-columns.ts';
import {
  type Answered,
  type Child,
  EXPRESSION_LIMITS,
  type ExpressionLimits,
  type Lost,
  loadExpressions,
  startChild,
} from './expression-child.ts';

const LOST: Readonly<Record<Lost, string>> = {
  time: 'the expression takes too long',
  memory: 'the expression needs too much memory',
};

type Result = readonly ExpressionResult[];

/**
 * Evaluates the expressions of a mapping row by row. Their process starts with the first rows and lives until `close`.
 * If the expressions of a row exceed the limits, the reason is the answer for that row. A lost process is replaced, and
 * the new process continues with the next rows.
 */
export class RowExpressions {
  readonly #texts: readonly string[];
  readonly #limits: ExpressionLimits;
  #child: Child | undefined;
  #runaways = 0;

  constructor(texts: readonly string[], limits = EXPRESSION_LIMITS) {
    this.#texts = texts;
    this.#limits = limits;
  }

  /**
   * If several rows were sent, the row that lost the process is not known. So these rows are sent one by one until the
   * process is lost again.
   * @returns for each row the results of the expressions
   * @throws MappingProblem if too many rows exceeded the limits
   */
  async evaluate(rows: readonly unknown[]): Promise<readonly Result[]> {
    const completed: Result[] = [];
    let isAlone = false;
    while (completed.length < rows.length) {
      const end = isAlone ? completed.length + 1 : rows.length;
      const { answers, lost } = await this.#ask(rows.slice(completed.length, end), isAlone);
      completed.push(...answers);
      if (lost !== undefined) isAlone = !isAlone;
    }
    return completed;
  }

  async close(): Promise<void> {
    const ended = this.#child;
    this.#child = undefined;
    await ended?.close();
  }

  /**
   * @param isAlone whether only one row is sent, so that this row is known to lose the process
   * @returns `lost` if the process was lost, in the row after the answers or in the only row
   */
  async #ask(rows: readonly unknown[], isAlone: boolean): Promise<Answered<Result>> {
    try {
      const childOrLoss = await this.#getChild();
      const { answers, lost } =
        typeof childOrLoss === 'string'
          ? { answers: [], lost: childOrLoss }
          : await childOrLoss.ask<Result>({ kind: 'rows', items: rows });
      if (lost !== undefined) await this.close();
      const results = isAlone && lost !== undefined ? [this.#blame(lost)] : answers;
      this.#countRunaways(results);
      return { answers: results, ...(lost && { lost }) };
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** @returns the process, or why it was lost while it read the expressions */
  async #getChild(): Promise<Child | Lost> {
    if (this.#child !== undefined) return this.#child;
    const child = startChild(this.#limits);
    this.#child = child;
    const { answers, lost } = await loadExpressions(child, this.#texts, this.#limits);
    const problem = answers.find((answer) => answer !== null);
    if (typeof problem === 'string') throw new MappingProblem(problem);
    return lost ?? child;
  }

  /** @returns the results of a row that lost the process */
  #blame(why: Lost): Result {
    return this.#texts.map(() => ({ problem: LOST[why], isRunaway: true }));
  }

  #countRunaways(results: readonly Result[]): void {
    const { runaways: most } = this.#limits;
    this.#runaways += results.filter((row) => row.some(isRunaway)).length;
    if (this.#runaways > most)
      throw new MappingProblem(
        `The expressions took too long or needed too much memory in more than ${most} rows`,
      );
  }
}

function isRunaway(result: ExpressionResult): boolean {
  return typeof result === 'object' && result !== null && 'isRunaway' in result && result.isRunaway === true;
}
