import { Worker } from 'node:worker_threads';
import { ServiceError } from '../kernel/errors.ts';

/** A message of an operation to a thread, and the thread's answer. */
interface Job {
  readonly operation: string;
  readonly input: unknown;
  readonly key: number;
  /** What runs one after another: the key, or the job alone. */
  readonly lane: number;
  readonly transfer: readonly ArrayBuffer[];
  readonly resolve: (output: never) => void;
  readonly reject: (error: unknown) => void;
}

interface Slot {
  worker: Worker;
  job: Job | undefined;
  lastKey: number | undefined;
}

export interface ThreadAnswer {
  readonly output?: unknown;
  readonly failure?: ThreadFailure;
}

/** An error as it crosses threads: classes are lost in between, so codes are carried. */
export interface ThreadFailure {
  readonly message: string;
  readonly stack: string | undefined;
  readonly refusal: { code: string; facts: object } | undefined;
}

export interface ThreadPool {
  /**
   * Runs an operation on one of the threads. Operations of one `key` run one after another in the order of the
   * calls; those of different keys side by side, as many as there are threads, and in turns when more wait: a key that
   * has many waiting holds up none that has one. `transfer` hands buffers over without a copy.
   */
  run<Output>(operation: string, input: unknown, options: RunOptions): Promise<Output>;
  /** Waits for what is under way, then ends the threads. */
  close(): Promise<void>;
  /** Ends the threads where they are; what is under way fails. */
  end(): Promise<void>;
}

export interface PoolSettings {
  /** Most threads at a time. */
  readonly size: number;
  readonly workerData: object;
  /** What a thread may use for objects; beyond it the thread dies and its operation fails. */
  readonly heapMib?: number;
}

export interface RunOptions {
  readonly key: number;
  readonly transfer?: readonly ArrayBuffer[];
  /** A key of its own may run beside itself; readers need no order. */
  readonly unordered?: boolean;
}

/** A thread ends only with the pool; one that dies fails its operation and is started anew. */
export function createThreadPool(entry: URL, settings: PoolSettings): ThreadPool {
  const waiting: Job[] = [];
  const turns = new Turns();
  let unorderedLanes = -1;
  let closing = false;
  /** Threads start when they are first needed: each takes 20 to 40 MiB. */
  const slots: Slot[] = [];

  const startThread = () => openWorker(entry, settings, { settle, replaceThread });

  function settle(worker: Worker, answer: ThreadAnswer): void {
    const slot = slots.find((candidate) => candidate.worker === worker);
    const job = slot?.job;
    if (slot === undefined || job === undefined) return;
    release(slot, job);
    if (answer.failure === undefined) job.resolve(answer.output as never);
    else job.reject(reviveFailure(answer.failure));
    dispatch();
  }

  function replaceThread(worker: Worker, error: Error): void {
    const slot = slots.find((candidate) => candidate.worker === worker);
    if (slot === undefined || closing) return;
    const job = slot.job;
    slot.worker = startThread();
    if (job !== undefined) {
      release(slot, job);
      job.reject(error);
    }
    dispatch();
  }

  function release(slot: Slot, job: Job): void {
    slot.job = undefined;
    turns.end(job);
  }

  const isFull = () => slots.length >= settings.size && slots.every(({ job }) => job !== undefined);

  function dispatch(): void {
    for (;;) {
      const job = isFull() ? undefined : turns.pick(waiting);
      const slot = job && findSlot(job.key);
      if (job === undefined || slot === undefined) return;
      waiting.splice(waiting.indexOf(job), 1);
      slot.job = job;
      slot.lastKey = job.key;
      turns.begin(job);
      post(slot, job);
    }
  }

  /** @returns the idle thread that served this key last, another idle one, or a new one while there is room */
  function findSlot(key: number): Slot | undefined {
    const known = pickIdle(slots, key);
    if (known !== undefined || slots.length >= settings.size) return known;
    const added: Slot = { worker: startThread(), job: undefined, lastKey: undefined };
    slots.push(added);
    return added;
  }

  function refuseMore(): void {
    closing = true;
    for (const job of waiting.splice(0)) job.reject(new ServiceError('not_ready', { retryAfterSeconds: 1 }));
  }

  return {
    run(operation, input, { key, transfer = [], unordered = false }) {
      return new Promise((resolve, reject) => {
        if (closing) throw new ServiceError('not_ready', { retryAfterSeconds: 1 });
        const lane = unordered ? unorderedLanes-- : key;
        waiting.push({ operation, input, key, lane, transfer, resolve, reject });
        dispatch();
      });
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

/** Whose job is next: of the key that has fewest under way, then of the one whose last turn is longest ago. */
class Turns {
  private readonly busyLanes = new Set<number>();
  private readonly running = new Map<number, number>();
  private readonly lastTurns = new Map<number, number>();
  private turn = 0;

  /** @returns the first of its key */
  pick(waiting: readonly Job[]): Job | undefined {
    let next: Job | undefined;
    for (const job of waiting) {
      if (this.busyLanes.has(job.lane)) continue;
      if (next === undefined || this.isBefore(job.key, next.key)) next = job;
    }
    return next;
  }

  begin({ key, lane }: Job): void {
    this.busyLanes.add(lane);
    this.running.set(key, this.countRunning(key) + 1);
    this.turn += 1;
    this.lastTurns.set(key, this.turn);
  }

  end({ key, lane }: Job): void {
    this.busyLanes.delete(lane);
    this.running.set(key, this.countRunning(key) - 1);
  }

  private countRunning(key: number): number {
    return this.running.get(key) ?? 0;
  }

  private isBefore(key: number, other: number): boolean {
    const fewer = this.countRunning(key) - this.countRunning(other);
    return fewer < 0 || (fewer === 0 && (this.lastTurns.get(key) ?? 0) < (this.lastTurns.get(other) ?? 0));
  }
}

function post(slot: Slot, { operation, input, transfer }: Job): void {
  const handedOverBytes = transfer.reduce((sum, { byteLength }) => sum + byteLength, 0);
  slot.worker.postMessage({ operation, input, handedOverBytes }, [...transfer]);
}

interface ThreadListener {
  settle(worker: Worker, answer: ThreadAnswer): void;
  replaceThread(worker: Worker, error: Error): void;
}

function openWorker(
  entry: URL,
  { workerData, heapMib }: PoolSettings,
  { settle, replaceThread }: ThreadListener,
): Worker {
  const resourceLimits = heapMib === undefined ? {} : { maxOldGenerationSizeMb: heapMib };
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
