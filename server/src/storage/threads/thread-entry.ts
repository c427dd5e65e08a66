import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort } from 'node:worker_threads';
import { ServiceError } from '../../kernel/errors.ts';
import { translateSqliteError } from '../sqlite-errors.ts';
import type { StopFlag, ThreadAnswer, ThreadFailure } from './thread-pool.ts';
import { stepAside } from './thread-priority.ts';

/** An operation of a thread: its answer, and the buffers to transfer with it. `stop` is given if it can be stopped. */
export type Operation = (input: never, stop?: StopFlag) => OperationAnswer | Promise<OperationAnswer>;

export interface OperationAnswer {
  readonly output?: unknown;
  readonly transfer?: readonly ArrayBuffer[];
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
    const { output, transfer = [] } = await run(input, stop);
    passedBytes += transfer.reduce((sum, { byteLength }) => sum + byteLength, 0);
    parentPort?.postMessage({ output } satisfies ThreadAnswer, [...transfer]);
  } catch (error) {
    parentPort?.postMessage({ failure: describeFailure(translateSqliteError(error)) } satisfies ThreadAnswer);
  }
  if (passedBytes > LARGE_BYTES) collectYoung({ type: 'minor' });
}

const LARGE_BYTES = 1024 * 1024;

/**
 * Collects the young generation of this thread. After a batch all its objects are dead: collected now, none is copied or
 * promoted later (a sixth less CPU time for each product), and external buffers do not pile up beside a small heap.
 */
const collectYoung = exposeCollector();

function exposeCollector(): (options: { type: 'minor' }) => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as (options: { type: 'minor' }) => void;
}

function describeFailure(error: unknown): ThreadFailure {
  if (error instanceof ServiceError) {
    const { cause: _, ...facts } = error.facts;
    return { message: error.message, stack: undefined, refusal: { code: error.code, facts } };
  }
  const known = error instanceof Error ? error : new Error(String(error));
  return { message: known.message, stack: known.stack, refusal: undefined };
}
