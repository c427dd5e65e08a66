import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../kernel/errors.ts';
import type { CatalogParts } from '../parts.ts';
import {
  endExpected,
  expectBatch,
  type FailedBatch,
  listOtherProcesses,
  markFailedBatch,
  noteProcess,
  removeGoneProcesses,
  removeProcess,
} from './failed-batch-store.ts';
import type { BatchState, FullUpdate } from './full-update-store.ts';

/** How often a process says that it is there and has no mark left to store. */
const BEAT_MS = 1_000;
/** A process not seen for this long is silent: no commit is accepted before it is there again or counts as dead. */
const SILENT_MS = 5_000;
/** A process not seen for this long counts as dead. The same time as the lease of a task. */
const GONE_MS = 10_000;
const TRY_EVERY_MS = 250;
/** How long a commit waits for the next beat of the others: callers give up after 3 s. */
const OTHERS_MS = 2_500;
const LOOK_EVERY_MS = 100;
/** A limit, because unknown callers can name any number of projects while keys cannot be checked. */
const MOST_MARKS = 1_000;

type Parts = Pick<CatalogParts, 'database' | 'clock' | 'logger'>;

/**
 * Keeps a commit from running without a batch that was refused. A batch is counted before it is read, so the store knows
 * of it whatever happens next. What could not be stored, because the database was away or the disk full, is kept here
 * until it can be; a process that ends without having stored it puts open full updates in doubt.
 * Source: docs/interface.md §3.1 rules 3 and 10.
 */
export class FailedBatches {
  private readonly parts: Parts;
  private readonly origin: string;
  private readonly id = randomBytes(8).toString('hex');
  private readonly marks = new Map<string, FailedBatch>();
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> | undefined;
  /** By the clock of this process: the last beat, and the first of those without a failure between them. */
  private beatAt = Number.NEGATIVE_INFINITY;
  private steadySince = Number.POSITIVE_INFINITY;

  constructor(parts: Parts, origin: string) {
    this.parts = parts;
    this.origin = origin;
  }

  /** Called before batches are taken. */
  async start(): Promise<void> {
    const { database } = this.parts;
    // The lock of the data folder shows that processes still listed were killed.
    if (!database.isShared) await removeGoneProcesses(database, this.origin);
    this.beatAt = performance.now();
    await noteProcess(database, this.id);
    this.timer = setInterval(() => {
      this.beating ??= this.beat().finally(() => {
        this.beating = undefined;
      });
    }, BEAT_MS);
    this.timer.unref();
  }

  /** A process that cannot store its failed batches leaves its row. */
  async close(): Promise<void> {
    if (this.timer === undefined) return;
    clearInterval(this.timer);
    await this.beating;
    await this.storeMarks();
    await removeProcess(this.parts.database, this.id);
  }

  /** @returns the full update that counts the batch from now on */
  expect(projectId: number, fullUpdateId: number | undefined): Promise<number | undefined> {
    return expectBatch(this.parts.database, { projectId, origin: this.origin, fullUpdateId });
  }

  /** The batch of a repeated request was accepted before. */
  async endRepeated(projectId: number, expected: number | undefined): Promise<void> {
    if (expected !== undefined) await endExpected(this.parts.database, { id: expected, projectId }, false);
  }

  /**
   * Notes a batch that is about to be answered with an error. One that nothing is stored of is answered when its mark is,
   * or when other processes see that this one is silent.
   */
  async note(failed: Omit<FailedBatch, 'at'>, expected: number | undefined): Promise<void> {
    const { database, clock, logger } = this.parts;
    const { projectId } = failed;
    if (expected !== undefined && projectId !== undefined) {
      await endExpected(database, { id: expected, projectId }, true).catch((error: unknown) =>
        logger.warn({ err: error, fullUpdateId: expected }, 'a failed batch stays counted as under way'),
      );
      return;
    }
    this.keep({ ...failed, at: clock.now() });
    for (; ; await delay(TRY_EVERY_MS)) {
      try {
        return await this.storeMarks();
      } catch (error) {
        // There is no beat as long as a mark is kept, so this ends.
        if (database.isShared && performance.now() - this.beatAt <= SILENT_MS) continue;
        logger.warn({ err: error, project: projectId }, 'a failed batch is only noted in memory');
        return;
      }
    }
  }

  /** A batch was accepted, or another full update begun. */
  forget(projectId: number): void {
    for (const [key, mark] of this.marks) if (mark.projectId === projectId) this.marks.delete(key);
  }

  /** The stored state of the last batch, and failures that this process could not store. */
  stateOf({ projectId, lastBatch, batchAt }: FullUpdate): BatchState {
    const kept = [...this.marks.values()].filter(
      (mark) => (mark.projectId ?? projectId) === projectId && mark.at >= batchAt,
    );
    const states = [lastBatch, ...kept.map(({ state }) => state)];
    return (['failed', 'in doubt'] as const).find((state) => states.includes(state)) ?? 'accepted';
  }

  /**
   * Waits for a beat of every other process: one that holds a mark, or was killed, has none.
   * @throws not_ready while another process may hold a mark that it could not store
   */
  async refuseSilence(): Promise<void> {
    const { database } = this.parts;
    if (!database.isShared) return;
    const before = await listOtherProcesses(database, this.id);
    const until = performance.now() + OTHERS_MS;
    const notReady = new ServiceError('not_ready', { retryAfterSeconds: 1 });
    for (let waiting = [...before.keys()]; waiting.length > 0; ) {
      await delay(LOOK_EVERY_MS);
      const now = await listOtherProcesses(database, this.id);
      // Whether one ended in order or was killed is in the state of the full update when the caller asks again.
      if (performance.now() > until || waiting.some((id) => !now.has(id))) throw notReady;
      waiting = waiting.filter((id) => now.get(id) === before.get(id));
    }
  }

  private keep(mark: FailedBatch): void {
    const known = this.marks.size < MOST_MARKS ? mark : { ...mark, projectId: undefined };
    this.marks.set(`${known.projectId} ${known.state}`, known);
  }

  private async storeMarks(): Promise<void> {
    for (const [key, mark] of [...this.marks]) {
      await markFailedBatch(this.parts.database, this.origin, mark);
      if (this.marks.get(key) === mark) this.marks.delete(key);
    }
  }

  private async beat(): Promise<void> {
    const { database, logger } = this.parts;
    try {
      await this.storeMarks();
      if (!database.isShared) return;
      const begunAt = performance.now();
      await noteProcess(database, this.id);
      this.beatAt = begunAt;
      this.steadySince = Math.min(this.steadySince, begunAt);
      // After an outage, others come back within moments too.
      if (begunAt - this.steadySince >= SILENT_MS) await removeGoneProcesses(database, this.origin, GONE_MS);
    } catch (error) {
      this.steadySince = Number.POSITIVE_INFINITY;
      logger.debug({ err: error }, 'marks of failed batches cannot be stored now');
    }
  }
}
