/**
 * Evaluates the expressions of a mapping in a process without rights (`expression-process.ts`), row by row, bounded
 * in time and memory. A row whose expressions run away is answered with the reason; the process, if it was lost, is
 * replaced and the rows behind it go on.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { on } from 'node:events';
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

const LOST: Readonly<Record<Lost['lost'], string>> = {
  time: 'the expression takes too long',
  memory: 'the expression needs too much memory',
};

type Results = (readonly ExpressionResult[])[];

/** The process starts with the first rows and lives until `close`. */
export function openExpressions(expressions: readonly string[], limits = EXPRESSION_LIMITS) {
  let child: Child | undefined;
  let runaways = 0;

  async function end(): Promise<void> {
    const ended = child;
    child = undefined;
    await ended?.close();
  }

  async function getChild(): Promise<Child> {
    if (child !== undefined) return child;
    child = startChild(limits);
    const problem = (await loadExpressions(child, expressions, limits)).find((one) => one !== null);
    if (typeof problem === 'string') throw new MappingProblem(problem);
    return child;
  }

  function countRunaways(results: Results): void {
    runaways += results.filter((row) => row.some(isRunaway)).length;
    if (runaways <= limits.runaways) return;
    throw new MappingProblem(
      `The expressions took too long or needed too much memory in more than ${limits.runaways} rows`,
    );
  }

  async function readResults(rows: readonly unknown[], results: Results): Promise<void> {
    for await (const message of (await getChild()).ask({ rows })) {
      if ('results' in message) results.push(...message.results);
      if (results.length >= rows.length) break;
    }
    countRunaways(results);
  }

  /** `lost`: the process was, in the row behind the results. */
  async function ask(rows: readonly unknown[]): Promise<{ results: Results; lost?: Lost['lost'] }> {
    const results: Results = [];
    try {
      await readResults(rows, results);
      return { results };
    } catch (error) {
      await end();
      if (!isLost(error)) throw error;
      return { results, lost: error.lost };
    }
  }

  /** Which of several rows it was is not known, so they go one by one until it happens again. */
  async function findCulprit(rows: readonly unknown[]): Promise<Results> {
    const done: Results = [];
    for (const row of rows) {
      const { results, lost } = await ask([row]);
      done.push(...results);
      if (lost === undefined) continue;
      const culprit = expressions.map(() => ({ problem: LOST[lost], isRunaway: true }));
      countRunaways([culprit]);
      return [...done, culprit];
    }
    return done;
  }

  return {
    /**
     * @returns for each row what each expression gives
     * @throws MappingProblem when too many rows ran away
     */
    async evaluate(rows: readonly unknown[]): Promise<Results> {
      const done: Results = [];
      while (done.length < rows.length) {
        const { results, lost } = await ask(rows.slice(done.length));
        done.push(...results);
        if (lost !== undefined) done.push(...(await findCulprit(rows.slice(done.length))));
      }
      return done;
    },
    close: end,
  };
}

const isLost = (error: unknown): error is Lost => error instanceof Error && 'lost' in error;

function isRunaway(result: ExpressionResult): boolean {
  return typeof result === 'object' && result !== null && 'isRunaway' in result && result.isRunaway === true;
}

/** @returns for each expression what is wrong with it; null where nothing is. @throws Lost */
async function loadExpressions(
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

/** Why a process is gone: it was too slow and ended by us, or it ended by itself, which only memory makes it do. */
interface Lost extends Error {
  readonly lost: 'time' | 'memory';
}

type Child = ReturnType<typeof startChild>;

/** A machine under load takes seconds to start a process. */
const START_MS = 30_000;
/** Beyond the time of a row: the process ends most rows itself, at the next step of the expression. */
const GRACE_MS = 2_000;

function startChild(limits: ExpressionLimits) {
  const child = forkWithoutRights(limits.memoryMib);
  const messages = on(child, 'message', { close: ['exit'] });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', resolve).once('error', resolve);
  });
  const watch = watchMemory(child, limits.memoryMib);
  void ended.then(() => clearInterval(watch));
  let lost: Lost['lost'] = 'memory';
  let isReady = false;

  /** @returns the next answer; undefined when the process is gone */
  async function next(): Promise<FromProcess | undefined> {
    const allowedMs = isReady ? limits.rowMs + GRACE_MS : START_MS;
    const timer = setTimeout(() => {
      lost = 'time';
      child.kill('SIGKILL');
    }, allowedMs);
    const { value } = await messages.next().finally(() => clearTimeout(timer));
    isReady ||= value !== undefined;
    return value?.[0];
  }

  return {
    /** The answers to one question; the caller stops reading when it has all. @throws Lost */
    async *ask(question: ToProcess): AsyncGenerator<FromProcess> {
      if (child.connected) child.send(question, () => {});
      for (let answer = await next(); answer !== undefined; answer = await next()) yield answer;
      if (!isReady) throw new Error('The process for expressions does not start');
      throw Object.assign(new Error('The process for expressions is gone'), { lost });
    },
    async close(): Promise<void> {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** What the process may read beside itself: the packages of the expressions and of their patterns. */
const jsonataUrl = import.meta.resolve('jsonata');
const re2Url = import.meta.resolve('re2js');

function forkWithoutRights(memoryMib: number): ChildProcess {
  const entry = new URL(`./expression-process${extname(import.meta.url)}`, import.meta.url);
  const readable = [entry.href, jsonataUrl, re2Url].flatMap((url) => [
    fileURLToPath(url),
    findPackageJSON(url),
  ]);
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

const MIB = 1024 * 1024;
const WATCH_MS = 50;
/** Node itself, its code and what V8 holds beside values. */
const BASE_MIB = 128;
const PAGE_BYTES = 4_096;

/**
 * V8 checks its limit when it collects; a single text of half a gigabyte is made before it does. Linux says what a
 * process really has, and takes this one first when a machine has no more.
 */
function watchMemory(child: ChildProcess, memoryMib: number): NodeJS.Timeout {
  const maxBytes = (memoryMib + BASE_MIB) * MIB;
  return setInterval(() => {
    if (residentBytes(child) > maxBytes) child.kill('SIGKILL');
  }, WATCH_MS).unref();
}

/** The thread that answers lookups goes first, as with the threads that parse, and in a shortage this process is ended. */
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

/** @returns 0 where the system does not say, or when it has ended */
function residentBytes({ pid }: ChildProcess): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
}

/**
 * Reads the expressions and patterns of a mapping as they are read for its rows, in a process without rights: a definition
 * is checked while others wait, and one pattern of ten characters may take a second and half a gigabyte.
 */

/** What is wrong with texts of a mapping, by the text. */
export interface TextProblems {
  readonly expressions: ReadonlyMap<string, string>;
  readonly patterns: ReadonlyMap<string, string>;
}

/** Of all patterns together; each takes a millisecond, 30 the worst that are allowed. */
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

/** Checks for callers, as many at a time as the service has places. */
export function createTextChecks(): TextChecks {
  const places = new AccountPlaces(CHECKS);
  return (requester) => async (texts) => {
    if (texts.expressions.length + texts.patterns.texts.length === 0) return NOTHING;
    return places.use(requester, () => checkTexts(texts, requester));
  };
}

const NOTHING: TextProblems = { expressions: new Map(), patterns: new Map() };

/** @param signal  ends the check, which then throws its reason */
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
  const stop = () => void child.close();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const problems = await readExpressions(child, expressions, limits);
    const readings = problems === undefined ? [] : await readPatterns(child, texts);
    signal?.throwIfAborted();
    const wrong = [...patterns.listProblems((_, at) => readings[at])];
    return {
      expressions: problems ?? new Map(expressions.map((text) => [text, UNREADABLE])),
      patterns: new Map(wrong.map(({ pattern, problem }) => [pattern, problem])),
    };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
    await child.close();
  }
}

/** @returns what is wrong, by the text; undefined when the process was lost */
async function readExpressions(
  child: Child,
  expressions: readonly string[],
  limits: ExpressionLimits,
): Promise<ReadonlyMap<string, string> | undefined> {
  if (expressions.length === 0) return new Map();
  try {
    const loaded = await loadExpressions(child, expressions, limits);
    return new Map(expressions.flatMap((text, at) => (loaded[at] ? [[text, loaded[at]]] : [])));
  } catch (error) {
    if (isLost(error)) return undefined;
    throw error;
  }
}

/** @returns a reading of each, up to the one that goes too far */
async function readPatterns(child: Child, patterns: readonly string[]): Promise<PatternReading[]> {
  const readings: PatternReading[] = [];
  const began = performance.now();
  try {
    for await (const message of child.ask({ patterns, maxSteps: PATTERN_STEPS })) {
      if ('isRead' in message) return readings;
      if ('pattern' in message) readings.push(message.pattern);
      if (performance.now() - began > PATTERNS_MS) break;
    }
  } catch (error) {
    // The process ended at its limit: patterns without an answer are the problem, and are named below.
    if (!isLost(error)) throw error;
  }
  return [...readings, { problem: RUNAWAY }];
}
