import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { constants, setPriority } from 'node:os';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExpressionLimits, FromProcess, ToProcess } from './expressions.ts';

/** Why a process is gone: it was too slow and ended by us, or it ended by itself, which only memory makes it do. */
export interface Lost extends Error {
  readonly lost: 'time' | 'memory';
}

export interface Child {
  /** The answers to one question; the caller stops reading when it has all. @throws Lost */
  ask(question: ToProcess): AsyncIterable<FromProcess>;
  close(): Promise<void>;
}

/** A machine under load takes seconds to start a process. */
const START_MS = 30_000;
/** Beyond the time of a row: the process ends most rows itself, at the next step of the expression. */
const GRACE_MS = 2_000;

export function startChild(limits: ExpressionLimits): Child {
  const child = forkWithoutRights(limits.memoryMib);
  const inbox: FromProcess[] = [];
  let lost: Lost['lost'] | undefined;
  let isReady = false;
  let wake: (() => void) | undefined;
  const ended = new Promise<void>((resolve) => {
    child.once('exit', resolve).once('error', resolve);
  });
  child.on('message', (message: FromProcess) => {
    if ('isReady' in message) isReady = true;
    inbox.push(message);
    wake?.();
  });
  const watch = watchMemory(child, limits.memoryMib);
  void ended.then(() => {
    clearInterval(watch);
    lost ??= 'memory';
    wake?.();
  });

  /** @returns the next answer; undefined when the process is gone */
  async function next(): Promise<FromProcess | undefined> {
    const allowedMs = isReady ? limits.rowMs + GRACE_MS : START_MS;
    const timer = setTimeout(() => {
      lost = 'time';
      child.kill('SIGKILL');
    }, allowedMs);
    while (inbox.length === 0 && lost !== 'memory' && child.exitCode === null && child.signalCode === null) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    clearTimeout(timer);
    return inbox.shift();
  }

  return {
    async *ask(question) {
      if (child.connected) child.send(question, () => {});
      for (let answer = await next(); answer !== undefined; answer = await next()) yield answer;
      if (!isReady) throw new Error('The process for expressions does not start');
      throw Object.assign(new Error('The process for expressions is gone'), { lost: lost ?? 'memory' });
    },
    async close() {
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
  stepAside(child);
  return child;
}

/** As the threads that parse do: the thread that answers lookups goes first. */
function stepAside({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Not permitted, or it has ended already.
  }
}

const MIB = 1024 * 1024;
const WATCH_MS = 50;
/** Node itself, its code and what V8 holds beside values. */
const BASE_MIB = 128;
const PAGE_BYTES = 4_096;

/**
 * V8 looks at its limit when it collects; a single text of half a gigabyte is made before it does. Linux tells what a
 * process really has, and takes this one first when a machine has no more.
 */
function watchMemory(child: ChildProcess, memoryMib: number): NodeJS.Timeout {
  const maxBytes = (memoryMib + BASE_MIB) * MIB;
  preferInShortage(child);
  return setInterval(() => {
    if (residentBytes(child) > maxBytes) child.kill('SIGKILL');
  }, WATCH_MS).unref();
}

function preferInShortage({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // Not Linux.
  }
}

/** @returns 0 where nobody tells, or when it has ended */
function residentBytes({ pid }: ChildProcess): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
}
