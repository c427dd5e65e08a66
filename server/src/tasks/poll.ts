import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { type FailureCode, ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';

/**
 * Errors after which accepted work waits: an operator must fix a full or failing disk, a damaged catalog, or a file
 * locked by another program.
 */
const TRANSIENT: ReadonlySet<string> = new Set<FailureCode>([
  ...(['storage_full', 'storage_failed', 'catalog_damaged', 'catalog_foreign'] as const),
  ...(['schema_moved', 'not_ready'] as const),
]);
/** The pause between two rounds while the database is unreachable. */
export const BACK_OFF_MS = 2_000;

/** Whether accepted work waits until the cause of the error is gone. */
export function isTransient(error: unknown): error is ServiceError {
  return error instanceof ServiceError && TRANSIENT.has(error.code);
}

/** @returns after the given time, or when the signal aborts */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // The delay rejects when the signal aborts.
  await delay(ms, undefined, { signal, ref: false }).catch(() => {});
}

/** The delay before the work of a task is retried after a failure. */
export const RETRY_MS = 5_000;

/**
 * Repeats work until it succeeds.
 * @param note logs a failure
 * @returns undefined when the process stops first
 */
export async function persist<Result>(
  work: () => Promise<Result>,
  { note, stopped }: { note: (error: unknown) => void; stopped: AbortSignal },
): Promise<Result | undefined> {
  do {
    try {
      return await work();
    } catch (error) {
      note(error);
    }
    await pause(RETRY_MS, stopped);
  } while (!stopped.aborted);
  return undefined;
}

export interface PollParts {
  readonly logger: Logger;
  /** The work of a round, for the log when rounds begin to fail. */
  readonly subject: string;
  /** The pause after a round that took `tookMs`. After a pause of Infinity, only `wake` starts the next round. */
  readonly restMs: number | ((tookMs: number) => number);
  round(signal: AbortSignal): Promise<void>;
}

/** Repeats a round of work at intervals, or earlier when woken. A failed round is logged and repeated. */
export class Poll {
  private readonly stopped = new AbortController();
  private readonly parts: PollParts;
  private woken = Promise.withResolvers<void>();
  private running: Promise<void> = Promise.resolve();

  constructor(parts: PollParts) {
    this.parts = parts;
  }

  start(): void {
    this.running = this.run();
  }

  wake(): void {
    this.woken.resolve();
  }

  /** Waits for the current round. */
  async close(): Promise<void> {
    this.stopped.abort();
    this.wake();
    await this.running;
  }

  private async run(): Promise<void> {
    const { logger, restMs, round, subject } = this.parts;
    const { signal } = this.stopped;
    let isFailing = false;
    while (!signal.aborted) {
      const begunAt = performance.now();
      let waitMs = BACK_OFF_MS;
      try {
        await round(signal);
        waitMs = typeof restMs === 'number' ? restMs : restMs(performance.now() - begunAt);
        isFailing = false;
      } catch (error) {
        // A failure is logged once, not at every round while the database is unreachable.
        if (!isFailing)
          logTrouble(logger, 'a round of periodic work failed; it is retried', {
            err: error,
            work: subject,
          });
        isFailing = true;
      }
      await this.rest(waitMs);
    }
  }

  private async rest(ms: number): Promise<void> {
    const timer = Number.isFinite(ms) ? setTimeout(() => this.wake(), ms).unref() : undefined;
    await this.woken.promise;
    clearTimeout(timer);
    this.woken = Promise.withResolvers();
  }
}

/** Logs a transient error as a warning, and a fault of the service as an error. */
export function logTrouble(logger: Logger, text: string, facts: { err: unknown; [fact: string]: unknown }) {
  if (facts.err instanceof ServiceError) logger.warn(facts, text);
  else logger.error(facts, text);
}

export interface DueWatchParts<Found> extends Pick<PollParts, 'logger' | 'subject'> {
  /** @returns the next due elements after `after`; none at the end */
  listDue(after: Found | undefined): Promise<readonly Found[]>;
  startDue(due: Found): Promise<void>;
}

/** Thrown when another process has already started the due element, or the element has changed. */
export class Moved extends Error {
  override readonly name = 'Moved';
}

/** Starts the due elements every second. */
export const createDueWatch = <Found>({ listDue, startDue, ...parts }: DueWatchParts<Found>): Poll =>
  new Poll({
    ...parts,
    restMs: 1_000,
    async round(signal) {
      let failure: { readonly error: unknown } | undefined;
      for await (const due of pagesOf(listDue)) {
        if (signal.aborted) return;
        // A failed start must not delay the others. It remains due until it succeeds.
        await startDue(due).catch((error: unknown) => {
          failure ??= { error };
        });
        // Reads of the embedded store never wait, so a round of a thousand starts would block the event loop.
        await nextTurn();
      }
      if (failure !== undefined) throw failure.error;
    },
  });

async function* pagesOf<Found>(list: DueWatchParts<Found>['listDue']): AsyncGenerator<Found, void> {
  for (let page = await list(undefined); page.length > 0; page = await list(page.at(-1))) yield* page;
}
