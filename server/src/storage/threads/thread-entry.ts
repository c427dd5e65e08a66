import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { ServiceError } from '../../kernel/errors.ts';
import { translateSqliteError } from '../sqlite-errors.ts';
import { countPassed } from './collector.ts';
import type { StopFlag, ThreadAnswer, ThreadFailure } from './thread-pool.ts';

/** An operation of a thread: its answer, and the buffers to transfer with it. `stop` is given if it can be stopped. */
export type Operation = (input: never, stop?: StopFlag) => OperationAnswer | Promise<OperationAnswer>;

export interface OperationAnswer {
  readonly output?: unknown;
  readonly transfer?: readonly ArrayBuffer[];
  /** In shared memory that is needed no more by this thread. */
  readonly sharedBytes?: number;
}

interface Message {
  readonly operation: string;
  readonly input: never;
  readonly stop: StopFlag | undefined;
  readonly handedOverBytes: number;
}

/**
 * Serves a pool of `thread-pool.ts` from inside a thread: one operation at a time, in order of arrival. `isUrgent`: callers
 * wait for its answers, so the thread keeps its priority.
 */
export function serveOperations(
  operations: Readonly<Record<string, Operation>>,
  { isUrgent = false } = {},
): void {
  if (!isUrgent) stepAside();
  parentPort?.on('message', (message: Message) => {
    void answer(operations[message.operation], message);
  });
}

async function answer(
  run: Operation | undefined,
  { operation, input, stop, handedOverBytes }: Message,
): Promise<void> {
  let passedBytes = handedOverBytes;
  try {
    if (run === undefined) throw new Error(`no operation ${operation}`);
    const { output, transfer = [], sharedBytes = 0 } = await run(input, stop);
    passedBytes += sharedBytes + transfer.reduce((sum, { byteLength }) => sum + byteLength, 0);
    parentPort?.postMessage({ output } satisfies ThreadAnswer, [...transfer]);
  } catch (error) {
    parentPort?.postMessage({
      failure: describeFailure(translateSqliteError(error, projectOf(input))),
    } satisfies ThreadAnswer);
  }
  countPassed(passedBytes);
}

/** Of the operations on catalogs. */
const projectOf = (input: unknown) => (input as { projectId?: number } | undefined)?.projectId;

function describeFailure(error: unknown): ThreadFailure {
  if (error instanceof ServiceError) {
    // The log shows facts.
    const { cause, ...facts } = error.facts;
    const why = cause instanceof Error && { cause: cause.message };
    return {
      message: error.message,
      stack: undefined,
      refusal: { code: error.code, facts: { ...facts, ...why } },
    };
  }
  const known = error instanceof Error ? error : new Error(String(error));
  return { message: known.message, stack: known.stack, refusal: undefined };
}

/**
 * Lets the serving thread run first: with fewer cores than threads the kernel gives a parsing thread its whole time slice
 * while a 1 KB answer waits. Linux has priorities per thread, and a thread's id is in /proc; elsewhere nothing changes.
 */
const ASIDE = 10;

/** Lowers the priority of the calling thread, and not of V8's own: garbage collection of the serving thread waits for those. */
export function stepAside(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), ASIDE);
  } catch {
    // Not Linux, or not permitted.
  }
}
