import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { translateSqliteError } from '../sqlite-errors.ts';
import { Budget, type BudgetTerms, type StopFlag } from './budget.ts';
import { countPassed } from './passed-bytes.ts';
import { describeFailure, type ThreadAnswer } from './thread-failure.ts';

/**
 * An operation of a thread. It returns its output, or a `Passed` with it. Work that is not a question has an unlimited
 * budget.
 */
export type Operation = (input: never, budget: Budget) => unknown;

/** An output with the buffers to transfer, and the number of bytes of shared memory that its thread no longer needs. */
export class Passed<Output> {
  readonly output: Output;
  readonly transfer: readonly ArrayBuffer[];
  readonly sharedBytes: number;

  constructor(output: Output, sharedBytes: number, transfer: readonly ArrayBuffer[] = []) {
    this.output = output;
    this.sharedBytes = sharedBytes;
    this.transfer = transfer;
  }
}

interface Message {
  readonly operation: string;
  readonly input: never;
  readonly terms: BudgetTerms | undefined;
  readonly stop: StopFlag | undefined;
  readonly handedOverBytes: number;
}

/**
 * Serves a pool of `createThreadPool` from inside a thread: one operation at a time, in order of arrival. With
 * `isUrgent`, callers wait for the answers, so the thread keeps its priority.
 */
export function serveOperations(operations: Readonly<Record<string, Operation>>, { isUrgent = false } = {}) {
  if (!isUrgent) stepAside();
  parentPort?.on('message', (message: Message) => void answer(operations[message.operation], message));
}

async function answer(
  run: Operation | undefined,
  { operation, input, terms, stop, handedOverBytes }: Message,
) {
  let passedBytes = handedOverBytes;
  const budget = terms === undefined ? Budget.unlimited() : new Budget(terms, stop);
  try {
    if (run === undefined) throw new Error(`no operation ${operation}`);
    const answered = await run(input, budget);
    const { output, transfer, sharedBytes } = answered instanceof Passed ? answered : new Passed(answered, 0);
    passedBytes += sharedBytes + transfer.reduce((sum, { byteLength }) => sum + byteLength, 0);
    parentPort?.postMessage({ output } satisfies ThreadAnswer, [...transfer]);
  } catch (error) {
    // Set for an operation on catalogs.
    const projectId = (input as { projectId?: number } | undefined)?.projectId;
    const failure = describeFailure(translateSqliteError(error, projectId));
    parentPort?.postMessage({ failure } satisfies ThreadAnswer);
  }
  countPassed(passedBytes);
}

/**
 * Lowers the priority of this thread, so that the serving thread runs first. With fewer cores than threads, the kernel
 * would give a parsing thread its whole time slice while a 1 KB answer waits. Linux has a priority per thread, and
 * thread ids in /proc; on other systems nothing changes. V8's own threads keep their priority, because garbage
 * collection of the serving thread waits for them.
 */
function stepAside(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), 10);
  } catch {
    // Not Linux, or not permitted.
  }
}
