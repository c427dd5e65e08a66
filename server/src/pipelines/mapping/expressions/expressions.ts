/**
 * Evaluates the expressions of a mapping in a process without permissions (`expression-process.ts`), row by
 * row, bounded in time and memory. A row whose expressions exceed the limits gets the reason as its answer;
 * if the process was lost, it is replaced and continues with the next rows.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { addAbortListener, on } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { constants, setPriority } from 'node:os';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AccountPlaces, type Requester } from '../../account-places.ts';
import {
  type ExpressionResult,
  MappingProblem,
  PATTERN_STEPS,
  PATTERNS,
  type PatternList,
  type PatternReading,
  TEXT_LENGTH,
} from '../mapping-columns.ts';

/** A question to the process, which answers its items one by one. */
export type ToProcess =
  | { readonly kind: 'expressions'; readonly items: readonly string[]; readonly limits: ProcessLimits }
  /** Patterns beyond the limit of steps are not compiled. */
  | { readonly kind: 'patterns'; readonly items: readonly string[]; readonly maxSteps: number }
  | { readonly kind: 'rows'; readonly items: readonly unknown[] };

export interface ProcessLimits {
  readonly rowMs: number;
  readonly textLength: number;
  readonly listLength: number;
}

/** The problem of an expression, or null; the reading of a pattern; the results of the expressions for a row. */
export type ProcessAnswer = string | null | PatternReading | readonly ExpressionResult[];

export interface ExpressionLimits {
  /** For all expressions of one row together. */
  readonly rowMs: number;
  /** The memory for values; Node itself needs 40 MiB on top. */
  readonly memoryMib: number;
  /** How many rows may exceed the limits before the rest is abandoned: each costs time that other work needs. */
  readonly runaways: number;
}

export const EXPRESSION_LIMITS: ExpressionLimits = { rowMs: 1_000, memoryMib: 96, runaways: 50 };

const LOST: Readonly<Record<Lost, string>> = {
  time: 'the expression takes too long',
  memory: 'the expression needs too much memory',
};

type Result = readonly ExpressionResult[];

/** The process starts with the first rows and lives until `close`. */
export function openExpressions(expressions: readonly string[], limits = EXPRESSION_LIMITS) {
  let child: Child | undefined;
  let runaways = 0;

  async function end(): Promise<void> {
    const ended = child;
    child = undefined;
    await ended?.close();
  }

  /** @returns the process, or why it was lost while reading the expressions */
  async function getChild(): Promise<Child | Lost> {
    if (child !== undefined) return child;
    child = startChild(limits);
    const { answers, lost } = await loadExpressions(child, expressions, limits);
    const problem = answers.find((one) => one !== null);
    if (typeof problem === 'string') throw new MappingProblem(problem);
    return lost ?? child;
  }

  function countRunaways(results: readonly Result[]): void {
    runaways += results.filter((row) => row.some(isRunaway)).length;
    const reason = `The expressions took too long or needed too much memory in more than ${limits.runaways} rows`;
    if (runaways > limits.runaways) throw new MappingProblem(reason);
  }

  /**
   * @param isAlone whether there is one row, so that it is the one that loses the process
   * @returns `lost` if the process was lost, in the row after the answers, or in the only one
   */
  async function ask(rows: readonly unknown[], isAlone: boolean): Promise<Answered<Result>> {
    try {
      const found = await getChild();
      const { answers, lost } =
        typeof found === 'string'
          ? { answers: [], lost: found }
          : await found.ask<Result>({ kind: 'rows', items: rows });
      if (lost !== undefined) await end();
      const culprit = (why: Lost) => expressions.map(() => ({ problem: LOST[why], isRunaway: true }));
      const results = isAlone && lost !== undefined ? [culprit(lost)] : answers;
      countRunaways(results);
      return { answers: results, ...(lost && { lost }) };
    } catch (error) {
      await end();
      throw error;
    }
  }

  return {
    /**
     * It is not known which of several rows lost the process, so they are sent one by one until it happens again.
     * @returns for each row the results of the expressions
     * @throws MappingProblem if too many rows exceeded the limits
     */
    async evaluate(rows: readonly unknown[]): Promise<readonly Result[]> {
      const done: Result[] = [];
      let isAlone = false;
      while (done.length < rows.length) {
        const end = isAlone ? done.length + 1 : rows.length;
        const { answers, lost } = await ask(rows.slice(done.length, end), isAlone);
        done.push(...answers);
        if (lost !== undefined) isAlone = !isAlone;
      }
      return done;
    },
    close: end,
  };
}

function isRunaway(result: ExpressionResult): boolean {
  return typeof result === 'object' && result !== null && 'isRunaway' in result && result.isRunaway === true;
}

/** @returns for each expression its problem, null if there is none */
const loadExpressions = (child: Child, items: readonly string[], { rowMs }: ExpressionLimits) =>
  child.ask<string | null>({
    kind: 'expressions',
    items,
    limits: { rowMs, textLength: TEXT_LENGTH, listLength: 10_000 },
  });

/** Why a process is gone: it was too slow and we ended it, or it ended by itself, which only happens for lack of memory. */
type Lost = 'time' | 'memory';

/** Has fewer answers than the question has items if the process is gone. */
interface Answered<Answer> {
  readonly answers: readonly Answer[];
  readonly lost?: Lost;
}

type Child = ReturnType<typeof startChild>;

/** A machine under load takes seconds to start a process. */
const START_MS = 30_000;
/** Added to the time of a row: the process itself stops most rows, at the next step of the expression. */
const GRACE_MS = 2_000;

function startChild(limits: ExpressionLimits) {
  const child = forkWithoutRights(limits.memoryMib);
  const messages = on(child, 'message', { close: ['exit'] });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', resolve).once('error', resolve);
  });
  const watch = watchMemory(child, limits.memoryMib);
  void ended.then(() => clearInterval(watch));
  let lost: Lost = 'memory';
  let isReady = false;

  /** @returns the next answers, none when the process is ready; undefined if it is gone. @throws Error if it did not start */
  async function next(): Promise<readonly ProcessAnswer[] | undefined> {
    const allowedMs = isReady ? limits.rowMs + GRACE_MS : START_MS;
    const timer = setTimeout(() => {
      lost = 'time';
      child.kill('SIGKILL');
    }, allowedMs);
    const { value } = await messages.next().finally(() => clearTimeout(timer));
    isReady ||= value !== undefined;
    if (!isReady) throw new Error('The process for expressions does not start');
    return value?.[0];
  }

  return {
    /** @param ms the limit for all answers together, in addition to that for each */
    async ask<Answer extends ProcessAnswer>(
      question: ToProcess,
      ms = Number.POSITIVE_INFINITY,
    ): Promise<Answered<Answer>> {
      const end = performance.now() + ms;
      const answers: Answer[] = [];
      if (child.connected) child.send(question, () => {});
      while (answers.length < question.items.length) {
        const more = performance.now() > end ? undefined : await next();
        if (more === undefined) return { answers, lost };
        answers.push(...(more as readonly Answer[]));
      }
      return { answers };
    },
    async close(): Promise<void> {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** What the process may read besides itself: the packages of the expressions and of their patterns. */
const jsonataUrl = import.meta.resolve('jsonata');
const re2Url = import.meta.resolve('re2js');

function forkWithoutRights(memoryMib: number): ChildProcess {
  const entry = new URL(`./expression-process${extname(import.meta.url)}`, import.meta.url);
  const urls = [entry.href, jsonataUrl, re2Url];
  const readable = urls.flatMap((url) => [fileURLToPath(url), findPackageJSON(url)]);
  const child = fork(entry, [jsonataUrl, re2Url], {
    env: {},
    execArgv: [
      '--permission',
      ...readable.map((path) => `--allow-fs-read=${path}`),
      `--max-old-space-size=${memoryMib}`,
      '--max-semi-space-size=8',
      '--disallow-code-generation-from-strings',
      '--disable-proto=delete',
      '--no-warnings',
    ],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'json',
  });
  giveWay(child);
  return child;
}

const WATCH_MS = 50;
/** Node itself, its code and what V8 holds besides values. */
const BASE_MIB = 128;
const PAGE_BYTES = 4_096;

/**
 * V8 checks its limit when it collects, but a single text of half a gigabyte is made before. Linux reports
 * the real memory of a process, and ends this process first when the machine runs out.
 */
function watchMemory(child: ChildProcess, memoryMib: number): NodeJS.Timeout {
  const maxBytes = (memoryMib + BASE_MIB) * 1024 * 1024;
  return setInterval(() => {
    if (residentBytes(child) > maxBytes) child.kill('SIGKILL');
  }, WATCH_MS).unref();
}

/** The serving thread takes precedence, as with parsing threads, and in a shortage of memory this process is ended. */
function giveWay({ pid = 0 }: ChildProcess): void {
  const acts = [
    () => setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL),
    () => writeFileSync(`/proc/${pid}/oom_score_adj`, '1000'),
  ];
  for (const act of pid === 0 ? [] : acts)
    try {
      act();
    } catch {
      // Not permitted, not Linux, or it has ended already.
    }
}

/** @returns 0 if the system does not tell, or the process has ended */
function residentBytes({ pid }: ChildProcess): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
}

/** Problems of a mapping's texts, by text. */
export interface TextProblems {
  readonly expressions: ReadonlyMap<string, string>;
  readonly patterns: ReadonlyMap<string, string>;
}

/** For all patterns together; each takes a millisecond, the worst permitted one 30. */
const PATTERNS_MS = 10_000;

const UNREADABLE = 'it cannot be read together with the other expressions: it takes too much time or memory';
const RUNAWAY = 'it takes too much time or memory to be compiled; repeat less, as \\d+ for \\d{1,1000}';

export interface CheckedTexts {
  readonly expressions: readonly string[];
  readonly patterns: PatternList;
}

/** A process takes up to 224 MiB and 13 s; most take 80 MiB and a fifth of a second. */
const CHECKS = { inProcess: 2, inAccount: 1, waiting: 20 } as const;

export type TextChecks = (requester: Requester) => (texts: CheckedTexts) => Promise<TextProblems>;

/** Checks for callers, as many at a time as there are places. */
export function createTextChecks(): TextChecks {
  const places = new AccountPlaces(CHECKS);
  return (requester) => async (texts) => {
    const isEmpty = texts.expressions.length + texts.patterns.texts.length === 0;
    if (isEmpty) return { expressions: new Map(), patterns: new Map() };
    return places.use(requester, () => checkTexts(texts, requester));
  };
}

/**
 * Reads the expressions and patterns of a mapping as for its rows, in a process without permissions: a definition
 * is checked while others wait, and one pattern of ten characters may take a second and half a gigabyte.
 * @param signal aborts the check, which then throws its reason
 */
export async function checkTexts(
  { expressions, patterns }: CheckedTexts,
  {
    limits = EXPRESSION_LIMITS,
    signal,
  }: { limits?: ExpressionLimits; signal?: AbortSignal | undefined } = {},
): Promise<TextProblems> {
  const texts = patterns.texts.slice(0, PATTERNS);
  signal?.throwIfAborted();
  const child = startChild(limits);
  using _listening = signal && addAbortListener(signal, () => void child.close());
  try {
    const { answers, lost } = await loadExpressions(child, expressions, limits);
    const readings = lost === undefined ? await readPatterns(child, texts) : [];
    signal?.throwIfAborted();
    const unreadable = expressions.flatMap((text, at) => {
      const problem = lost === undefined ? answers[at] : UNREADABLE;
      return problem ? [[text, problem] as const] : [];
    });
    const wrong = [...patterns.listProblems((_, at) => readings[at] ?? undefined)];
    return {
      expressions: new Map(unreadable),
      patterns: new Map(wrong.map(({ pattern, problem }) => [pattern, problem])),
    };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    await child.close();
  }
}

/** @returns a reading of each; if the process was lost, or took too long, the next one is the problem */
async function readPatterns(child: Child, items: readonly string[]) {
  const question = { kind: 'patterns', items, maxSteps: PATTERN_STEPS } as const;
  const { answers, lost } = await child.ask<PatternReading | null>(question, PATTERNS_MS);
  return lost === undefined ? answers : [...answers, { problem: RUNAWAY }];
}
