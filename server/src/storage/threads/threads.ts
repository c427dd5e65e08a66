/** The door of threads: pools of workers that carry out named operations. */

import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, Worker } from 'node:worker_threads';
import { crc32 } from 'node:zlib';
import { ServiceError } from '../../kernel/errors.ts';
import { FairQueue } from '../../kernel/turns.ts';
import { translateSqliteError } from '../sqlite-errors.ts';
import { Budget, type BudgetTerms, refuseTooLong, type StopFlag } from './budget.ts';

export { Budget, type BudgetTerms, isTooLong, type StopFlag } from './budget.ts';

const MIB = 1024 * 1024;
/** Collects once the buffers of body parts and the objects of a batch are dead, so that none is copied or promoted later. */
const YOUNG_BYTES = 4 * MIB;
/** A body that took several parts to arrive is no longer a young object. */
const ALL_BYTES = 128 * MIB;

let young = 0;
let all = 0;

/** The same for shared memory that is no longer needed at the end of the present turn, and so never gets old. */
export function countPassedAtOnce(bytes: number): void {
  young += bytes;
  if (young < YOUNG_BYTES) return;
  young = 0;
  const isMajor = all >= ALL_BYTES;
  if (isMajor) all = 0;
  collect({ type: isMajor ? 'major' : 'minor' });
}

/**
 * Reports that this many bytes passed through this thread. V8 does not count shared memory, so nothing else would
 * free it in time; external memory, which it counts, made it collect everything for each batch (docs/decisions/0006).
 */
export function countPassed(bytes: number): void {
  all += bytes;
  countPassedAtOnce(bytes);
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: { type: 'minor' | 'major' }) => void;

/** Smaller buffers are collected soon enough. */
const LEAST_BYTES = MIB;
/** A full update with batches of 16 MiB uses four at a time. Never less: dropped buffers stay until every thread has collected. */
const IDLE_BYTES = 96 * MIB;
const IDLE_COUNT = 24;

/**
 * Memory that threads share, reused once it is given back: V8 frees shared memory only after a full collection of
 * each thread that saw it (docs/decisions/0006). Its only owner gives it back when nothing reads or writes it any
 * more; users are not counted. What is never given back, e.g. because its thread died, is left to the collector.
 */
export class BufferPool {
  private readonly idle: SharedArrayBuffer[] = [];

  /** @returns a buffer of at least this many bytes, with arbitrary contents */
  take(bytes: number): Loan {
    // Powers of two, so that bodies of similar size share buffers; the system only backs what is written.
    const size = bytes < LEAST_BYTES ? bytes : 2 ** Math.ceil(Math.log2(bytes));
    const at = this.idle.findLastIndex(({ byteLength }) => byteLength === size);
    const reused = at < 0 ? undefined : this.idle.splice(at, 1)[0];
    // Only a full collection frees it; the next collection due will be one.
    if (reused === undefined) all += size;
    const buffer = reused ?? new SharedArrayBuffer(size);
    return new Loan(new Uint8Array(buffer), () => this.keep(buffer));
  }

  private keep(buffer: SharedArrayBuffer): void {
    if (buffer.byteLength < LEAST_BYTES || buffer.byteLength > IDLE_BYTES) return;
    this.idle.push(buffer);
    let idleBytes = this.idle.reduce((sum, { byteLength }) => sum + byteLength, 0);
    // The most recently used is taken next; otherwise idle buffers of one size would keep those of another from being reused.
    while (idleBytes > IDLE_BYTES || this.idle.length > IDLE_COUNT)
      idleBytes -= this.idle.shift()?.byteLength ?? 0;
  }
}

/** Shared memory, and the right to give it back once: it has one owner at a time. */
export class Loan {
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  private end: (() => void) | undefined;

  constructor(bytes: Uint8Array<SharedArrayBuffer>, end: (() => void) | undefined) {
    this.bytes = bytes;
    this.end = end;
  }

  /** Call it when the memory is no longer read or written. */
  giveBack(): void {
    const { end } = this;
    this.end = undefined;
    end?.();
  }

  /** Gives up memory that may still be read or written, so that it is never reused. */
  abandon(): void {
    this.end = undefined;
  }

  /** @returns the same memory for another owner; this one can no longer give it back */
  move(): Loan {
    const moved = new Loan(this.bytes, this.end);
    this.end = undefined;
    return moved;
  }

  /** Gives the memory back when the thread that works on it has answered. */
  async until<Result>(work: Promise<Result>): Promise<Result> {
    const result = await this.unlessFailed(work);
    this.giveBack();
    return result;
  }

  /** Gives the memory back if the work is refused; a thread that failed or died may still use it. */
  async unlessFailed<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof ServiceError && !(error instanceof ThreadReplaced)) this.giveBack();
      else this.abandon();
      throw error;
    }
  }
}

/** The refusal of a question whose thread was replaced: that thread may still use the memory of the question. */
export class ThreadReplaced extends ServiceError {
  constructor({ code, facts }: ServiceError) {
    super(code, facts);
  }
}

/** In this many bytes the first few are sampled: 0.1 ms for 15 MB, and a premature write begins at the start of the memory. */
const EVERY_BYTES = 64 * 1024;
const LOOKED_AT_BYTES = 1024;

/** @returns a hash of some of the bytes, which shows if others have taken their place */
export function sampleBytes(bytes: Uint8Array): number {
  let sample = bytes.length;
  for (let at = 0; at < bytes.length; at += EVERY_BYTES)
    sample = crc32(bytes.subarray(at, at + LOOKED_AT_BYTES), sample);
  return sample;
}

/** @throws Error if the bytes are not those that were sampled: their memory was given back too early */
export function refuseOtherBytes(bytes: Uint8Array, sample: number): void {
  if (sampleBytes(bytes) !== sample)
    throw new Error('shared memory was written to while it was in use: nothing of it is stored');
}

/** @returns the text as shared bytes: V8 counts what is transferred, and would collect both threads' whole heap for it */
export function shareText(text: string): Uint8Array<SharedArrayBuffer> {
  const shared = new SharedArrayBuffer(Buffer.byteLength(text));
  Buffer.from(shared).write(text);
  return new Uint8Array(shared);
}

interface Job {
  readonly operation: string;
  readonly input: unknown;
  readonly key: number;
  /** Who takes turns: the caller's key, even if no order is needed, or its account. */
  readonly owner: number;
  /** The caller's key. */
  readonly part: number;
  /** Of a question. */
  readonly terms: BudgetTerms | undefined;
  readonly stop: StopFlag | undefined;
  readonly transfer: readonly ArrayBuffer[];
  readonly onUnanswered: (() => void) | undefined;
  readonly resolve: (output: never) => void;
  readonly reject: (error: unknown) => void;
}

interface Slot {
  readonly worker: Worker;
  job: Job | undefined;
  lastKey: number | undefined;
  /** When the thread is replaced unless its question has ended. */
  timer: NodeJS.Timeout | undefined;
}

interface ThreadAnswer {
  readonly output?: unknown;
  readonly failure?: ThreadFailure;
}

/** An error as it crosses threads: its class is lost, its code is kept. */
interface ThreadFailure {
  readonly message: string;
  readonly stack: string | undefined;
  readonly refusal: { code: string; facts: object } | undefined;
}

/** A pool of threads that only answers questions, none of which can be put without a budget. */
export interface QuestionPool {
  /**
   * Puts a question to one of the threads. Questions run in parallel and take turns, by account where the pool knows
   * it. An input that is a function is called when a thread is free for it. A thread that still works on the question
   * some seconds after its budget is used up, or after its caller has left, is replaced by another one.
   * @throws search_too_long, question_too_long, memory_exceeded
   */
  ask<Output>(question: string, input: unknown, options: AskOptions): Promise<Output>;
  /** Starts the first thread before it is needed: loading its code takes longer than most operations. */
  start(): void;
  /** Stops the operations in progress that can be stopped, waits for the others, then ends the threads. */
  close(): Promise<void>;
  /** Ends the threads at once; operations in progress fail. */
  end(): Promise<void>;
}

export interface ThreadPool extends QuestionPool {
  /**
   * Runs work that has to end, such as a change: it has no budget, and its thread is never replaced. Operations with the
   * same `key` run one after another, in the order of the calls; different keys run in parallel and take turns. Buffers in
   * `transfer` are moved, not copied. An input that is a function is called when a thread is free for it.
   */
  run<Output>(operation: string, input: unknown, options: RunOptions): Promise<Output>;
}

export interface PoolSettings {
  readonly size: number;
  readonly workerData: object;
  /** The most threads that one key, or one account, may use at a time; default all. Half of that while another is at work, too. */
  readonly share?: number;
  /** The account of a key, if keys are projects: accounts take turns and share threads. */
  accountOf?(project: number): number;
  /** Heap limit of a thread; beyond it the thread dies and its operation fails. */
  readonly heapMib?: number;
  /** The most memory for its young objects; default 48 MiB, which V8 fills before it collects. */
  readonly youngMib?: number;
  /** How long a thread may go on after the budget of its question is used up, or its caller has left; default 5 s. */
  readonly graceMs?: number;
  /** Called when a thread is replaced. */
  onReplaced?(replaced: ReplacedThread): void;
}

/** Why a thread was replaced. */
export interface ReplacedThread {
  readonly question: string;
  /** The key of the question, which is the project where keys are projects. */
  readonly key: number;
  /** How long the thread has worked on the question. */
  readonly ms: number;
  readonly hasCaller: boolean;
}

interface RunOptions {
  readonly key: number;
  readonly transfer?: readonly ArrayBuffer[];
  /** Operations of the same key may run in parallel: they need no order. */
  readonly unordered?: boolean;
}

export interface AskOptions {
  readonly key: number;
  readonly terms: BudgetTerms;
  /** Withdraws the question: it fails at once, and its thread stops working on it. */
  readonly signal?: AbortSignal | undefined;
  /** Called after a question has failed, once no thread works on it any more. */
  readonly onUnanswered?: () => void;
}

const GRACE_MS = 5_000;
/** The longest time that a timer takes. */
const LONGEST_MS = 2 ** 31 - 1;
/** Replaced threads that are still in a statement, which nothing can interrupt; with more, fewer others start. */
const MOST_LEAVING = 2;

/** How long after its last operation an owner counts as at work: a busy caller pauses for less. */
const RECENT_MS = 5_000;

/** A thread ends with the pool, or when it dies or is replaced; then its operation fails, and another thread starts. */
export function createThreadPool(entry: URL, settings: PoolSettings): ThreadPool {
  const waiting = new FairQueue<Job>();
  const { size, workerData, heapMib, youngMib, graceMs = GRACE_MS } = settings;
  let unorderedKeys = -1;
  let closing = false;
  /** The owner whose operation began last, and the last different one. */
  let begun: readonly { readonly owner: number; readonly at: number }[] = [];
  /** Threads other than the first start when they are needed: each takes 20 to 40 MiB. */
  const slots: Slot[] = [];
  /** Replaced threads that have not ended yet. */
  const leaving = new Map<Worker, Promise<unknown>>();

  function startThread(): Worker {
    const resourceLimits = {
      ...(heapMib !== undefined && { maxOldGenerationSizeMb: heapMib }),
      ...(youngMib !== undefined && { maxYoungGenerationSizeMb: youngMib }),
    };
    const worker = new Worker(entry, { workerData, resourceLimits });
    const ownMib = worker.resourceLimits?.maxOldGenerationSizeMb ?? heapMib ?? 0;
    worker.on('message', (answer: ThreadAnswer) => settle(worker, answer));
    worker.on('error', (error) => removeThread(worker, explainDeath(error as Error, ownMib)));
    worker.on('exit', () => {
      leaving.delete(worker);
      removeThread(worker, new Error('a worker thread ended'));
    });
    return worker;
  }

  function settle(worker: Worker, answer: ThreadAnswer): void {
    const slot = slots.find((candidate) => candidate.worker === worker);
    const job = slot?.job;
    if (slot === undefined || job === undefined) return;
    clearTimeout(slot.timer);
    slot.job = undefined;
    if (answer.failure !== undefined || isStopped(job)) job.onUnanswered?.();
    // Only the caller of the operation knows the type of its output.
    if (answer.failure === undefined) job.resolve(answer.output as never);
    else job.reject(reviveFailure(answer.failure));
    dispatch();
  }

  /** Another thread takes its place as soon as it is needed. */
  function removeThread(worker: Worker, error: Error): void {
    const at = slots.findIndex((candidate) => candidate.worker === worker);
    const [slot] = at < 0 ? [] : slots.splice(at, 1);
    clearTimeout(slot?.timer);
    if (slot?.job !== undefined) fail(slot.job, worker, error);
    if (!closing) dispatch();
  }

  function fail(job: Job, worker: Worker, error: Error): void {
    const { onUnanswered } = job;
    const ended = leaving.get(worker);
    if (onUnanswered !== undefined) void (ended ?? worker.terminate()).then(onUnanswered);
    job.reject(error);
  }

  /** Replaces the thread after this time, unless it has answered. */
  function watch(slot: Slot, job: Job, { terms, ms }: { terms: BudgetTerms; ms: number }): void {
    const begunAt = performance.now();
    clearTimeout(slot.timer);
    slot.timer = setTimeout(
      () => {
        if (slot.job !== job) return;
        const { operation: question, part: key } = job;
        const hasCaller = !isStopped(job);
        settings.onReplaced?.({ question, key, ms: performance.now() - begunAt, hasCaller });
        leaving.set(slot.worker, slot.worker.terminate());
        removeThread(slot.worker, new ThreadReplaced(refuseTooLong(terms)));
      },
      Math.min(ms, LONGEST_MS),
    ).unref();
  }

  const mayBegin = ({ key, owner }: Job) =>
    slots.every(({ job }) => job?.key !== key) &&
    slots.filter(({ job }) => job?.owner === owner).length < shareOf(owner);

  /** A free thread is not enough for other owners while this one keeps all cores busy. */
  function shareOf(owner: number): number {
    if (settings.share === undefined) return size;
    const now = performance.now();
    const hasOthers = begun.some((one) => one.owner !== owner && now - one.at < RECENT_MS);
    return hasOthers ? Math.ceil(settings.share / 2) : settings.share;
  }

  function noteBegun(owner: number): void {
    const other = begun.find((one) => one.owner !== owner);
    begun = [{ owner, at: performance.now() }, ...(other === undefined ? [] : [other])];
  }

  const mayStart = () => slots.length < size - Math.max(0, leaving.size - MOST_LEAVING);

  function dispatch(): void {
    while (mayStart() || slots.some(({ job }) => job === undefined)) {
      const job = waiting.take(mayBegin);
      if (job === undefined) return;
      // The idle thread that served this key last, another idle one, or a new one.
      const idle = slots.filter((one) => one.job === undefined);
      const slot = idle.find((one) => one.lastKey === job.part) ?? idle[0] ?? addSlot();
      Object.assign(slot, { job, lastKey: job.part });
      noteBegun(job.owner);
      post(slot, job);
      if (job.terms !== undefined) watch(slot, job, { terms: job.terms, ms: job.terms.ms + graceMs });
    }
  }

  function addSlot(): Slot {
    const added: Slot = { worker: startThread(), job: undefined, lastKey: undefined, timer: undefined };
    slots.push(added);
    return added;
  }

  function withdraw(job: Job): void {
    stopWork(job);
    const { terms } = job;
    const slot = slots.find((one) => one.job === job);
    if (slot !== undefined && terms !== undefined) watch(slot, job, { terms, ms: graceMs });
    if (waiting.drop(job)) job.onUnanswered?.();
  }

  /** Listens only while the operation runs: a caller's signal may outlive many of them. */
  function takeBackOn(signal: AbortSignal, job: Job, promise: Promise<unknown>): void {
    const onAbort = () => {
      withdraw(job);
      job.reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const unlisten = () => signal.removeEventListener('abort', onAbort);
    promise.then(unlisten, unlisten);
  }

  function refuseMore(): void {
    closing = true;
    for (const job of waiting.dropAll()) job.reject(new ServiceError('not_ready', { retryAfterSeconds: 1 }));
    for (const { job } of slots) if (job !== undefined) withdraw(job);
  }

  function add(operation: string, input: unknown, options: RunOptions & Partial<AskOptions>): Promise<never> {
    const { key: part, transfer = [], unordered = false, terms, signal, onUnanswered } = options;
    const { promise, resolve, reject } = Promise.withResolvers<never>();
    if (closing) return Promise.reject(new ServiceError('not_ready', { retryAfterSeconds: 1 }));
    if (signal?.aborted) return Promise.reject(signal.reason);
    const key = unordered ? unorderedKeys-- : part;
    const owner = settings.accountOf?.(part) ?? part;
    const stop = terms && new Int32Array(new SharedArrayBuffer(4));
    const about = { operation, input, key, owner, part, terms, stop, transfer };
    const job: Job = { ...about, onUnanswered, resolve, reject };
    waiting.add(job);
    dispatch();
    if (signal !== undefined) takeBackOn(signal, job, promise);
    return promise;
  }

  return {
    start() {
      if (slots.length === 0 && !closing) addSlot();
    },
    ask: (question, input, options) => add(question, input, { ...options, unordered: true }),
    run: add,
    async close() {
      refuseMore();
      await Promise.all([...slots.map(endThread), ...leaving.values()]);
    },
    async end() {
      refuseMore();
      for (const { job } of slots) job?.reject(new Error('the thread was ended'));
      await Promise.all([...slots.map(({ worker }) => worker.terminate()), ...leaving.values()]);
    },
  };
}

const isStopped = ({ stop }: Job): boolean => stop !== undefined && Atomics.load(stop, 0) !== 0;

function stopWork(job: Job | undefined): void {
  if (job?.stop !== undefined) Atomics.store(job.stop, 0, 1);
}

function post(slot: Slot, { operation, input, terms, stop, transfer }: Job): void {
  const handedOverBytes = transfer.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const made = typeof input === 'function' ? input() : input;
  slot.worker.postMessage({ operation, input: made, terms, stop, handedOverBytes }, [...transfer]);
}

async function endThread({ job, worker, timer }: Slot): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  worker.once('message', resolve).once('exit', resolve);
  if (job !== undefined) await promise;
  clearTimeout(timer);
  await worker.terminate();
}

/** @returns a refusal for a thread that ran out of memory, otherwise the error */
function explainDeath(error: Error, heapMib: number): Error {
  const isFull = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
  return isFull
    ? new ThreadReplaced(new ServiceError('memory_exceeded', { values: [heapMib], cause: error }))
    : error;
}

function reviveFailure({ message, stack, refusal }: ThreadFailure): Error {
  if (refusal !== undefined) return new ServiceError(refusal.code as 'storage_full', refusal.facts);
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** A caller who waits for a thread is likely to ask again soon. */
const IDLE_MS = 60_000;

/**
 * Threads that each work for one user at a time, and are stopped wherever they are when its signal aborts.
 * Starting one takes half a second of processor time, so the last one that finished waits a while for the
 * next user. The operation `close` releases what a thread holds.
 */
export function createThreadSupply(entry: URL, settings: Omit<PoolSettings, 'size'>) {
  let idle: ThreadPool | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Those whose user was refused: what they read ahead may take seconds, for which the refusal does not wait. */
  const leaving = new Set<ThreadPool>();

  function keep(thread: ThreadPool): void {
    if (idle !== undefined) return void thread.end();
    idle = thread;
    timer = setTimeout(() => void close(), IDLE_MS).unref();
  }

  async function leave(thread: ThreadPool): Promise<void> {
    leaving.add(thread);
    const isFree = await letGo(thread);
    // `close` takes out what it ends.
    if (leaving.delete(thread) && isFree) keep(thread);
    else await thread.end();
  }

  async function close(): Promise<void> {
    clearTimeout(timer);
    const threads = [idle, ...leaving];
    // Before they have ended, so that no new user gets one of them.
    idle = undefined;
    leaving.clear();
    await Promise.all(threads.map((thread) => thread?.end()));
  }

  return {
    close,
    /** @param signal stops the thread wherever it is */
    async use<Result>(signal: AbortSignal, work: (thread: ThreadPool) => Promise<Result>): Promise<Result> {
      signal.throwIfAborted();
      const thread = idle ?? createThreadPool(entry, { ...settings, size: 1 });
      idle = undefined;
      clearTimeout(timer);
      const end = () => void thread.end();
      signal.addEventListener('abort', end, { once: true });
      try {
        const result = await work(thread);
        keep(thread);
        return result;
      } catch (error) {
        // A refusal leaves a sound thread behind; after any other error that is unknown.
        if (error instanceof ServiceError && !(error instanceof ThreadReplaced)) void leave(thread);
        else await thread.end();
        throw error;
      } finally {
        signal.removeEventListener('abort', end);
      }
    },
  };
}

/** @returns whether the thread has let go of what it holds */
async function letGo(thread: ThreadPool): Promise<boolean> {
  const done = thread.run('close', {}, { key: 0 }).then(() => true);
  return Promise.race([done, delay(2_000, false, { ref: false })]).catch(() => false);
}

/** An operation of a thread, which returns its output or `Passed` with it. The budget of work that is no question has no limits. */
export type Operation = (input: never, budget: Budget) => unknown;

/** An output with the buffers to transfer, and how many bytes of shared memory its thread no longer needs. */
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
 * Serves a pool of `createThreadPool` from inside a thread: one operation at a time, in order of arrival.
 * `isUrgent`: callers wait for its answers, so the thread keeps its priority.
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

function describeFailure(error: unknown): ThreadFailure {
  if (!(error instanceof ServiceError)) {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    return { message, stack, refusal: undefined };
  }
  // The log shows facts.
  const { cause, ...facts } = error.facts;
  const why = cause instanceof Error && { cause: cause.message };
  const refusal = { code: error.code, facts: { ...facts, ...why } };
  return { message: error.message, stack: undefined, refusal };
}

/**
 * Lets the serving thread run first: with fewer cores than threads the kernel gives a parsing thread its whole time slice
 * while a 1 KB answer waits. Linux has priorities per thread, and thread ids in /proc; elsewhere nothing changes. V8's own
 * threads keep theirs: garbage collection of the serving thread waits for those.
 */
function stepAside(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), 10);
  } catch {
    // Not Linux, or not permitted.
  }
}
