import { Worker } from 'node:worker_threads';
import { ServiceError } from '../../kernel/errors.ts';
import { FairQueue } from '../../kernel/fair-queue.ts';

/** A message of an operation to a thread, and the thread's answer. */
interface Job {
  readonly operation: string;
  readonly input: unknown;
  readonly key: number;
  /** Who takes turns: the key of its caller, also where no order is needed, or the account of that. */
  readonly owner: number;
  /** The key of its caller. */
  readonly part: number;
  readonly stop: StopFlag | undefined;
  readonly transfer: readonly ArrayBuffer[];
  readonly resolve: (output: never) => void;
  readonly reject: (error: unknown) => void;
}

/** Non-zero: the caller has stopped waiting. Shared with the working thread. */
export type StopFlag = Int32Array<SharedArrayBuffer>;

interface Slot {
  worker: Worker;
  job: Job | undefined;
  lastKey: number | undefined;
}

export interface ThreadAnswer {
  readonly output?: unknown;
  readonly failure?: ThreadFailure;
}

/** An error as it crosses threads: its class is lost, its code is kept. */
export interface ThreadFailure {
  readonly message: string;
  readonly stack: string | undefined;
  readonly refusal: { code: string; facts: object } | undefined;
}

export interface ThreadPool {
  /**
   * Runs an operation on one of the threads. Operations with the same `key` run one after another, in the order of the
   * calls; different keys run in parallel and take turns, by account where the pool knows it. Buffers in `transfer` are moved, not copied. An input that is a
   * function is made when a thread is there for it.
   */
  run<Output>(operation: string, input: unknown, options: RunOptions): Promise<Output>;
  /** Starts the first thread before it is needed: to load what it runs takes longer than most operations. */
  start(): void;
  /** Stops the operations in progress that can be stopped, waits for the others, then ends the threads. */
  close(): Promise<void>;
  /** Ends the threads at once; operations in progress fail. */
  end(): Promise<void>;
}

export interface PoolSettings {
  /** Most threads at a time. */
  readonly size: number;
  readonly workerData: object;
  /** Most threads that one key may use at a time, or one account; default all. */
  readonly share?: number;
  /** Keys are projects, whose accounts take turns and share threads. */
  accountOf?(project: number): number;
  /** Heap limit of a thread; beyond it the thread dies and its operation fails. */
  readonly heapMib?: number;
  /** Most memory of its young objects; default 48 MiB, which V8 takes before it collects. */
  readonly youngMib?: number;
}

export interface RunOptions {
  readonly key: number;
  readonly transfer?: readonly ArrayBuffer[];
  /** Operations of the same key may run in parallel: reads need no order. */
  readonly unordered?: boolean;
  /** Cancels the operation: it fails at once, and the stop flag tells its thread. */
  readonly signal?: AbortSignal | undefined;
}

/** A thread ends only with the pool; when one dies, its operation fails and the thread is restarted. */
export function createThreadPool(entry: URL, settings: PoolSettings): ThreadPool {
  const waiting = new FairQueue<Job>();
  const { size, share = size } = settings;
  let unorderedKeys = -1;
  let closing = false;
  /** Other threads than the first start when they are needed: each takes 20 to 40 MiB. */
  const slots: Slot[] = [];

  const startThread = () => openWorker(entry, settings, { settle, replaceThread });

  function settle(worker: Worker, answer: ThreadAnswer): void {
    const slot = slots.find((candidate) => candidate.worker === worker);
    const job = slot?.job;
    if (slot === undefined || job === undefined) return;
    slot.job = undefined;
    // Only the caller of the operation knows the type of its output.
    if (answer.failure === undefined) job.resolve(answer.output as never);
    else job.reject(reviveFailure(answer.failure));
    dispatch();
  }

  function replaceThread(worker: Worker, error: Error): void {
    const slot = slots.find((candidate) => candidate.worker === worker);
    if (slot === undefined || closing) return;
    const job = slot.job;
    slot.worker = startThread();
    slot.job = undefined;
    job?.reject(error);
    dispatch();
  }

  const mayBegin = ({ key, owner }: Job) =>
    slots.every(({ job }) => job?.key !== key) &&
    slots.filter(({ job }) => job?.owner === owner).length < share;

  function dispatch(): void {
    while (slots.length < size || slots.some(({ job }) => job === undefined)) {
      const job = waiting.take(mayBegin);
      if (job === undefined) return;
      // The idle thread that served this key last, another idle one, or a new one.
      const slot = pickIdle(slots, job.part) ?? addSlot();
      Object.assign(slot, { job, lastKey: job.part });
      post(slot, job);
    }
  }

  function addSlot(): Slot {
    const added: Slot = { worker: startThread(), job: undefined, lastKey: undefined };
    slots.push(added);
    return added;
  }

  function refuseMore(): void {
    closing = true;
    for (const job of waiting.dropAll()) job.reject(new ServiceError('not_ready', { retryAfterSeconds: 1 }));
    for (const { job } of slots) stopWork(job);
  }

  return {
    start() {
      if (slots.length === 0 && !closing) addSlot();
    },
    run(operation, input, { key: part, transfer = [], unordered = false, signal }) {
      const { promise, resolve, reject } = Promise.withResolvers<never>();
      if (closing) return Promise.reject(new ServiceError('not_ready', { retryAfterSeconds: 1 }));
      if (signal?.aborted) return Promise.reject(signal.reason);
      const key = unordered ? unorderedKeys-- : part;
      const owner = settings.accountOf?.(part) ?? part;
      const stop = signal && new Int32Array(new SharedArrayBuffer(4));
      const job: Job = { operation, input, key, owner, part, stop, transfer, resolve, reject };
      waiting.add(job);
      dispatch();
      if (signal !== undefined) takeBackOn(signal, { job, promise, drop: () => waiting.drop(job) });
      return promise;
    },
    async close() {
      refuseMore();
      await Promise.all(slots.map(endThread));
    },
    async end() {
      refuseMore();
      await Promise.all(slots.map(endThreadNow));
    },
  };
}

function stopWork(job: Job | undefined): void {
  if (job?.stop !== undefined) Atomics.store(job.stop, 0, 1);
}

/** Listens only while the operation runs: a caller's signal may outlive many of them. */
function takeBackOn(
  signal: AbortSignal,
  { job, promise, drop }: { job: Job; promise: Promise<unknown>; drop: () => void },
): void {
  const onAbort = () => {
    drop();
    stopWork(job);
    job.reject(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  const unlisten = () => signal.removeEventListener('abort', onAbort);
  promise.then(unlisten, unlisten);
}

function post(slot: Slot, { operation, input, stop, transfer }: Job): void {
  const handedOverBytes = transfer.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const made = typeof input === 'function' ? input() : input;
  slot.worker.postMessage({ operation, input: made, stop, handedOverBytes }, [...transfer]);
}

interface ThreadListener {
  settle(worker: Worker, answer: ThreadAnswer): void;
  replaceThread(worker: Worker, error: Error): void;
}

function openWorker(
  entry: URL,
  { workerData, heapMib, youngMib }: PoolSettings,
  { settle, replaceThread }: ThreadListener,
): Worker {
  const resourceLimits = {
    ...(heapMib !== undefined && { maxOldGenerationSizeMb: heapMib }),
    ...(youngMib !== undefined && { maxYoungGenerationSizeMb: youngMib }),
  };
  const worker = new Worker(entry, { workerData, resourceLimits });
  worker.on('message', (answer: ThreadAnswer) => settle(worker, answer));
  worker.on('error', (error) => replaceThread(worker, error as Error));
  worker.on('exit', () => replaceThread(worker, new Error('a worker thread ended')));
  return worker;
}

async function endThreadNow({ job, worker }: Slot): Promise<void> {
  job?.reject(new Error('the thread was ended'));
  await worker.terminate();
}

function pickIdle(slots: readonly Slot[], key: number): Slot | undefined {
  const idle = slots.filter((slot) => slot.job === undefined);
  return idle.find((slot) => slot.lastKey === key) ?? idle[0];
}

async function endThread(slot: Slot): Promise<void> {
  if (slot.job !== undefined) {
    await new Promise<void>((resolve) => {
      slot.worker.once('message', () => resolve());
      slot.worker.once('exit', () => resolve());
    });
  }
  await slot.worker.terminate();
}

function reviveFailure({ message, stack, refusal }: ThreadFailure): Error {
  if (refusal !== undefined) return new ServiceError(refusal.code as 'storage_full', refusal.facts);
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
