/** The parent's side of the process without permissions, which evaluates expressions (`expression-process.ts`). */
import { type ChildProcess, fork } from 'node:child_process';
import { on } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { constants, setPriority } from 'node:os';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ExpressionResult, type PatternReading, TEXT_LENGTH } from '../mapping-columns.ts';

/** A question to the process, which answers the items of the question one by one. */
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

/** The problem of an expression, or null; the reading of a pattern; or the results of the expressions for a row. */
export type ProcessAnswer = string | null | PatternReading | readonly ExpressionResult[];

export interface ExpressionLimits {
  /** The time for all expressions of one row together. */
  readonly rowMs: number;
  /** The memory for values. Node itself needs 40 MiB in addition. */
  readonly memoryMib: number;
  /**
   * How many rows may exceed the limits before the run is abandoned. Each such row takes time that other work needs.
   */
  readonly runaways: number;
}

export const EXPRESSION_LIMITS: ExpressionLimits = { rowMs: 1_000, memoryMib: 96, runaways: 50 };

/**
 * Why a process was lost: the service ended it because it was too slow, or it ended itself, which only a lack of memory
 * causes.
 */
export type Lost = 'time' | 'memory';

/** Has fewer answers than the question has items if the process was lost. */
export interface Answered<Answer> {
  readonly answers: readonly Answer[];
  readonly lost?: Lost;
}

export type Child = ReturnType<typeof startChild>;

/** A machine under load takes seconds to start a process. */
const START_MS = 30_000;
/** Added to the time of a row. The process itself stops most rows, at the next step of the expression. */
const GRACE_MS = 2_000;

export function startChild(limits: ExpressionLimits) {
  const child = forkWithoutRights(limits.memoryMib);
  const messages = on(child, 'message', { close: ['exit'] });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', resolve).once('error', resolve);
  });
  const watch = watchMemory(child, limits.memoryMib);
  void ended.then(() => clearInterval(watch));
  let lost: Lost = 'memory';
  let isReady = false;

  /**
   * @returns the next answers, an empty list when the process is ready, or undefined if the process was lost. @throws
   * Error if it did not start
   */
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
    /** @param ms the limit for all answers together, in addition to the limit of each answer */
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

/** What the process may read besides its own file: the packages of the expressions and of their patterns. */
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
/** The memory of Node itself: its code, and what V8 holds besides values. */
const BASE_MIB = 128;
const PAGE_BYTES = 4_096;

/**
 * V8 checks its limit only when it collects garbage, but it may allocate a single text of half a gigabyte before. So
 * the parent compares the real memory of the process, which Linux reports, with the limit.
 */
function watchMemory(child: ChildProcess, memoryMib: number): NodeJS.Timeout {
  const maxBytes = (memoryMib + BASE_MIB) * 1024 * 1024;
  return setInterval(() => {
    if (residentBytes(child) > maxBytes) child.kill('SIGKILL');
  }, WATCH_MS).unref();
}

/**
 * Lowers the priority of the process below the serving thread, like that of parsing threads. In a shortage of memory,
 * Linux ends this process first.
 */
function giveWay({ pid = 0 }: ChildProcess): void {
  const acts = [
    () => setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL),
    () => writeFileSync(`/proc/${pid}/oom_score_adj`, '1000'),
  ];
  for (const act of pid === 0 ? [] : acts)
    try {
      act();
    } catch {
      // The change is not permitted, the system is not Linux, or the process has ended.
    }
}

/** @returns 0 if the system does not report the memory, or if the process has ended */
function residentBytes({ pid }: ChildProcess): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
}

/** @returns for each expression its problem, or null if it has none */
export const loadExpressions = (child: Child, items: readonly string[], { rowMs }: ExpressionLimits) =>
  child.ask<string | null>({
    kind: 'expressions',
    items,
    limits: { rowMs, textLength: TEXT_LENGTH, listLength: 10_000 },
  });
