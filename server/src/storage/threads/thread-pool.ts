import { Worker } from 'node:worker_threads';
import { ServiceError } from '../../kernel/errors.ts';
import { FairQueue } from '../../kernel/turns.ts';
import { type BudgetTerms, refuseTooLong, type StopFlag } from './budget.ts';
import { OwnerShares } from './owner-shares.ts';
import { explainDeath, reviveFailure, type ThreadAnswer, ThreadReplaced } from './thread-failure.ts';

/** A pool of threads that only answer questions. The compiler rejects a question without a budget. */
export interface QuestionPool {
  /**
   * Sends a question to one of the threads. Questions run in parallel and take turns: by account if the pool knows the
   * accounts, otherwise by key. An input that is a function is called when a thread is free for it. A thread is
   * replaced if it still works on the question some seconds after the budget is used up or the caller has left.
   * @throws search_too_long, question_too_long, memory_exceeded
   */
  ask<Output>(question: string, input: unknown, options: AskOptions): Promise<Output>;
  /** Starts the first thread before it is needed, because loading its code takes longer than most operations. */
  start(): void;
  /** Stops the operations in progress that can be stopped, waits for the others, then ends the threads. */
  close(): Promise<void>;
  /** Ends the threads immediately. Operations in progress fail. */
  end(): Promise<void>;
}

export interface ThreadPool extends QuestionPool {
  /**
   * Runs work that must complete, such as a change. It has no budget, and its thread is never replaced. Operations with
   * the same `key` run one after another, in the order of the calls. Different keys run in parallel and take turns.
   * Buffers in `transfer` are moved, not copied. An input that is a function is called when a thread is free for it.
   */
  run<Output>(operation: string, input: unknown, options: RunOptions): Promise<Output>;
}

export interface PoolSettings {
  readonly size: number;
  readonly workerData: object;
  /**
   * The most threads that one key, or one account, may use at a time (default: all). It may use half as many while
   * another one is at work.
   */
  readonly share?: number;
  /** The account of a key, if keys are projects. Accounts take turns and share threads. */
  accountOf?(project: number): number;
  /** The heap limit of a thread. A thread that exceeds it dies, and its operation fails. */
  readonly heapMib?: number;
  /** The most memory for its young objects. The default is 48 MiB, which V8 fills before it collects. */
  readonly youngMib?: number;
  /**
   * How long a thread may continue after the budget of its question is used up or its caller has left (default: 5 s).
   */
  readonly graceMs?: number;
  /** Called when a thread is replaced. */
  onReplaced?(replaced: ReplacedThread): void;
}

/** Why a thread was replaced. */
export interface ReplacedThread {
  readonly question: string;
  /** The key of the question: the project, if keys are projects. */
  readonly key: number;
  /** How long the thread has worked on the question. */
  readonly ms: number;
  readonly hasCaller: boolean;
}

interface RunOptions {
  readonly key: number;
  readonly transfer?: readonly ArrayBuffer[];
  /** Operations with the same key may run in parallel, in any order. */
  readonly unordered?: boolean;
}

export interface AskOptions {
  readonly key: number;
  readonly terms: BudgetTerms;
  /** Withdraws the question when aborted: it fails immediately, and its thread stops working on it. */
  readonly signal?: AbortSignal | undefined;
  /** Called after a question has failed and no thread works on it any more. */
  readonly onUnanswered?: () => void;
}

interface Job {
  readonly operation: string;
  readonly input: unknown;
  readonly key: number;
  /** The owner that takes turns: the caller's key, even for unordered operations, or its account. */
  readonly owner: number;
  /** The caller's key. */
  readonly part: number;
  /** Set for questions only. */
  readonly terms: BudgetTerms | undefined;
  readonly stop: StopFlag | undefined;
  readonly transfer: readonly ArrayBuffer[];
  readonly onUnanswered: (() => void) | undefined;
  resolve(output: unknown): void;
  readonly reject: (error: unknown) => void;
}

interface Slot {
  readonly worker: Worker;
  job: Job | undefined;
  lastKey: number | undefined;
  /** Replaces the thread when it fires, unless the question has ended. */
  timer: NodeJS.Timeout | undefined;
}

const GRACE_MS = 5_000;
/** The longest time that a timer accepts. */
const LONGEST_MS = 2 ** 31 - 1;
/**
 * While more replaced threads than this have not ended, each further one takes the place of a new thread. A replaced
 * thread may be in a statement, which nothing can interrupt.
 */
const MOST_LEAVING = 2;

/**
 * A thread ends with the pool, or when it dies or is replaced. In the last two cases its operation fails, and another
 * thread starts.
 */
class WorkerPool implements ThreadPool {
  private readonly entry: URL;
  private readonly settings: PoolSettings;
  private readonly shares: OwnerShares;
  private readonly waiting = new FairQueue<Job>();
  /** All threads except the first start when they are needed, because each takes 20 to 40 MiB. */
  private readonly slots: Slot[] = [];
  /** Replaced threads that have not ended yet. */
  private readonly leaving = new Map<Worker, Promise<unknown>>();
  private unorderedKeys = -1;
  private isClosing = false;

  constructor(entry: URL, settings: PoolSettings) {
    this.entry = entry;
    this.settings = settings;
    this.shares = new OwnerShares(settings.size, settings.share);
  }

  start(): void {
    if (this.slots.length === 0 && !this.isClosing) this.addSlot();
  }

  ask<Output>(question: string, input: unknown, options: AskOptions): Promise<Output> {
    return this.add(question, input, { ...options, unordered: true });
  }

  run<Output>(operation: string, input: unknown, options: RunOptions): Promise<Output> {
    return this.add(operation, input, options);
  }

  async close(): Promise<void> {
    this.refuseMore();
    await Promise.all([...this.slots.map(endThread), ...this.leaving.values()]);
  }

  async end(): Promise<void> {
    this.refuseMore();
    for (const { job } of this.slots) job?.reject(new Error('the thread was ended'));
    await Promise.all([...this.slots.map(({ worker }) => worker.terminate()), ...this.leaving.values()]);
  }

  private refuseMore(): void {
    this.isClosing = true;
    for (const job of this.waiting.dropAll()) job.reject(refuseClosing());
    for (const { job } of this.slots) if (job !== undefined) this.withdraw(job);
  }

  private add(operation: string, input: unknown, options: RunOptions & Partial<AskOptions>): Promise<never> {
    const { key: part, transfer = [], unordered = false, terms, signal, onUnanswered } = options;
    const { promise, resolve, reject } = Promise.withResolvers<never>();
    if (this.isClosing) return Promise.reject(refuseClosing());
    if (signal?.aborted) return Promise.reject(signal.reason);
    const key = unordered ? this.unorderedKeys-- : part;
    const owner = this.settings.accountOf?.(part) ?? part;
    const stop = terms && new Int32Array(new SharedArrayBuffer(4));
    const about = { operation, input, key, owner, part, terms, stop, transfer };
    const job: Job = { ...about, onUnanswered, resolve, reject };
    this.waiting.add(job);
    this.dispatch();
    if (signal !== undefined) this.takeBackOn(signal, job, promise);
    return promise;
  }

  /** Listens only while the operation runs, because a caller's signal may outlive many operations. */
  private takeBackOn(signal: AbortSignal, job: Job, promise: Promise<unknown>): void {
    const onAbort = () => {
      this.withdraw(job);
      job.reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const unlisten = () => signal.removeEventListener('abort', onAbort);
    promise.then(unlisten, unlisten);
  }

  private withdraw(job: Job): void {
    stopWork(job);
    const { terms } = job;
    const slot = this.slots.find((candidate) => candidate.job === job);
    if (slot !== undefined && terms !== undefined) this.watch(slot, job, { terms, ms: this.graceMs });
    if (this.waiting.drop(job)) job.onUnanswered?.();
  }

  private dispatch(): void {
    const { slots } = this;
    while (this.mayStart() || slots.some(({ job }) => job === undefined)) {
      const job = this.waiting.take(this.mayBegin);
      if (job === undefined) return;
      // Uses the idle thread that last served this key, another idle one, or a new one.
      const idle = slots.filter((candidate) => candidate.job === undefined);
      const slot = idle.find(({ lastKey }) => lastKey === job.part) ?? idle[0] ?? this.addSlot();
      Object.assign(slot, { job, lastKey: job.part });
      this.shares.noteBegun(job.owner);
      post(slot, job);
      if (job.terms !== undefined)
        this.watch(slot, job, { terms: job.terms, ms: job.terms.ms + this.graceMs });
    }
  }

  private readonly mayBegin = ({ key, owner }: Job): boolean =>
    this.slots.every(({ job }) => job?.key !== key) &&
    this.slots.filter(({ job }) => job?.owner === owner).length < this.shares.shareOf(owner);

  private mayStart(): boolean {
    return this.slots.length < this.settings.size - Math.max(0, this.leaving.size - MOST_LEAVING);
  }

  private addSlot(): Slot {
    const added: Slot = { worker: this.startThread(), job: undefined, lastKey: undefined, timer: undefined };
    this.slots.push(added);
    return added;
  }

  private startThread(): Worker {
    const { workerData, heapMib, youngMib } = this.settings;
    const resourceLimits = {
      ...(heapMib !== undefined && { maxOldGenerationSizeMb: heapMib }),
      ...(youngMib !== undefined && { maxYoungGenerationSizeMb: youngMib }),
    };
    const worker = new Worker(this.entry, { workerData, resourceLimits });
    const ownMib = worker.resourceLimits?.maxOldGenerationSizeMb ?? heapMib ?? 0;
    worker.on('message', (answer: ThreadAnswer) => this.settle(worker, answer));
    worker.on('error', (error) => this.removeThread(worker, explainDeath(error as Error, ownMib)));
    worker.on('exit', () => {
      this.leaving.delete(worker);
      this.removeThread(worker, new Error('a worker thread ended'));
    });
    return worker;
  }

  private settle(worker: Worker, answer: ThreadAnswer): void {
    const slot = this.slots.find((candidate) => candidate.worker === worker);
    const job = slot?.job;
    if (slot === undefined || job === undefined) return;
    clearTimeout(slot.timer);
    slot.job = undefined;
    if (answer.failure !== undefined || isStopped(job)) job.onUnanswered?.();
    // Only the caller of the operation knows the type of its output.
    if (answer.failure === undefined) job.resolve(answer.output);
    else job.reject(reviveFailure(answer.failure));
    this.dispatch();
  }

  /** Replaces the thread after this time, unless it has answered. */
  private watch(slot: Slot, job: Job, { terms, ms }: { terms: BudgetTerms; ms: number }): void {
    const begunAt = performance.now();
    clearTimeout(slot.timer);
    slot.timer = setTimeout(
      () => {
        if (slot.job !== job) return;
        const { operation: question, part: key } = job;
        const hasCaller = !isStopped(job);
        this.settings.onReplaced?.({ question, key, ms: performance.now() - begunAt, hasCaller });
        this.leaving.set(slot.worker, slot.worker.terminate());
        this.removeThread(slot.worker, new ThreadReplaced(refuseTooLong(terms)));
      },
      Math.min(ms, LONGEST_MS),
    ).unref();
  }

  /** Removes a thread. Another one starts as soon as it is needed. */
  private removeThread(worker: Worker, error: Error): void {
    const index = this.slots.findIndex((candidate) => candidate.worker === worker);
    const [slot] = index < 0 ? [] : this.slots.splice(index, 1);
    clearTimeout(slot?.timer);
    if (slot?.job !== undefined) this.fail(slot.job, worker, error);
    if (!this.isClosing) this.dispatch();
  }

  private fail(job: Job, worker: Worker, error: Error): void {
    const { onUnanswered } = job;
    const ended = this.leaving.get(worker);
    if (onUnanswered !== undefined) void (ended ?? worker.terminate()).then(onUnanswered);
    job.reject(error);
  }

  private get graceMs(): number {
    return this.settings.graceMs ?? GRACE_MS;
  }
}

export const createThreadPool = (entry: URL, settings: PoolSettings): ThreadPool =>
  new WorkerPool(entry, settings);

const refuseClosing = () => new ServiceError('not_ready', { retryAfterSeconds: 1 });

const isStopped = ({ stop }: Job): boolean => stop !== undefined && Atomics.load(stop, 0) !== 0;

function stopWork(job: Job | undefined): void {
  if (job?.stop !== undefined) Atomics.store(job.stop, 0, 1);
}

function post(slot: Slot, { operation, input, terms, stop, transfer }: Job): void {
  const handedOverBytes = transfer.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const value = typeof input === 'function' ? input() : input;
  slot.worker.postMessage({ operation, input: value, terms, stop, handedOverBytes }, [...transfer]);
}

async function endThread({ job, worker, timer }: Slot): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  worker.once('message', resolve).once('exit', resolve);
  if (job !== undefined) await promise;
  clearTimeout(timer);
  await worker.terminate();
}
