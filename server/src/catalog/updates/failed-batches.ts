import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../kernel/errors.ts';
import { GONE_MS } from '../../storage/postgres/postgres.ts';
import type { CatalogParts } from '../parts.ts';
import * as fullUpdateStore from './full-update-store.ts';

/** How often a process says that it is there and has no mark left to store. */
const BEAT_MS = 1_000;
/** A process not seen for this long is silent: no commit is accepted before it is there again or counts as dead. */
const SILENT_MS = 5_000;
const TRY_EVERY_MS = 250;
/** How long a commit waits for batches that are arriving and for the next beat of the others: callers give up after 3 s. */
export const COMMIT_WAIT_MS = 2_500;
const CHECK_EVERY_MS = 100;
/** A limit, because unknown callers can name any number of projects while keys cannot be checked. */
const MOST_MARKS = 1_000;

type Parts = Pick<CatalogParts, 'database' | 'clock' | 'logger'>;

/**
 * Keeps a commit from running without a batch that was refused or is arriving. A batch has a row before it is read, so
 * the store knows of it whatever happens next. What could not be stored, because the database was away or the disk full, is
 * held here until it can be; a process that ends without having stored it puts open full updates in doubt.
 * Source: docs/interface.md §3.1 rules 3, 10 and 11.
 */
export class FailedBatches {
  private readonly parts: Parts;
  private readonly origin: string;
  private readonly marks = new Map<string, fullUpdateStore.FailedBatch>();
  /** Failed batches whose rows are there still: only their process knows that they do not arrive any more. */
  private readonly lost = new Set<fullUpdateStore.ArrivingBatch>();
  private expected = 0;
  private timer: NodeJS.Timeout | undefined;
  private takesBatches = true;
  private beating: Promise<void> | undefined;
  /** By the clock of this process: the last beat, and the first of those without a failure between them. */
  private beatAt = Number.NEGATIVE_INFINITY;
  private steadySince = Number.POSITIVE_INFINITY;

  constructor(parts: Parts, origin: string) {
    this.parts = parts;
    this.origin = origin;
  }

  /** Called before batches are taken, and by a process that takes none: others see it in the same list. */
  async start(takesBatches: boolean): Promise<void> {
    const { database } = this.parts;
    this.takesBatches = takesBatches;
    // The lock of the data folder shows that processes still listed were killed.
    if (!database.isShared) await fullUpdateStore.removeGoneProcesses(database, this.origin);
    this.beatAt = performance.now();
    await fullUpdateStore.noteProcess(database, this.takesBatches);
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
    await fullUpdateStore.removeProcess(this.parts.database);
  }

  /** @returns the batch, which the full update counts from now on; undefined when none is open */
  expect(
    projectId: number,
    fullUpdateId: number | undefined,
  ): Promise<fullUpdateStore.ArrivingBatch | undefined> {
    this.expected += 1;
    const { database } = this.parts;
    const batch = { projectId, processId: database.processId, number: this.expected };
    return fullUpdateStore.expectBatch(database, { ...batch, origin: this.origin, fullUpdateId });
  }

  /** The batch of a repeated request was accepted before. */
  async endRepeated(arriving: fullUpdateStore.ArrivingBatch | undefined): Promise<void> {
    if (arriving !== undefined) await fullUpdateStore.endExpected(this.parts.database, arriving, false);
  }

  /**
   * Notes a batch that is about to be answered with an error. One that nothing is stored of is answered when its mark is,
   * or when other processes see that this one is silent. @param failed undefined: it says nothing about the open full update
   */
  async note(
    failed: Omit<fullUpdateStore.FailedBatch, 'at'> | undefined,
    arriving: fullUpdateStore.ArrivingBatch | undefined,
  ): Promise<void> {
    const { database, clock, logger } = this.parts;
    if (arriving !== undefined) {
      // Until a beat removes its row a commit waits for it or is refused, which is the safe side.
      await fullUpdateStore.endExpected(database, arriving, true).catch((error: unknown) => {
        this.lost.add(arriving);
        logger.warn({ err: error, fullUpdateId: arriving.id }, 'a failed batch counts as arriving for now');
      });
      return;
    }
    if (failed === undefined) return;
    const { projectId } = failed;
    this.hold({ ...failed, at: clock.now() });
    for (; ; await delay(TRY_EVERY_MS)) {
      try {
        return await this.storeMarks();
      } catch (error) {
        // There is no beat as long as a mark is held, so this ends.
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

  /** What is stored of the batches, and failures that this process could not store. */
  stateOf({
    id,
    projectId,
    lastBatch,
    batchAt,
    arriving,
  }: fullUpdateStore.FullUpdate): fullUpdateStore.BatchesState {
    const lost = [...this.lost].filter((batch) => batch.id === id).length;
    if (lost > 0) return { lastBatch: 'failed', arriving: arriving - lost };
    const held = [...this.marks.values()].filter(
      (mark) => (mark.projectId ?? projectId) === projectId && mark.at >= batchAt,
    );
    const states = [lastBatch, ...held.map(({ state }) => state)];
    const worst = (['failed', 'in doubt'] as const).find((state) => states.includes(state));
    return { lastBatch: worst ?? 'accepted', arriving };
  }

  /**
   * Waits until no batch of the open full update is arriving, at any process. `find` reads it anew, or throws.
   * @returns the full update as it is then, or as it is when `until` has passed
   */
  async waitForArriving(
    find: () => Promise<fullUpdateStore.FullUpdate>,
    until: number,
  ): Promise<fullUpdateStore.FullUpdate> {
    for (; ; await delay(CHECK_EVERY_MS)) {
      const open = await find();
      if (this.stateOf(open).arriving <= 0 || performance.now() > until) return open;
    }
  }

  /**
   * Waits for a beat of every other process: one that holds a mark, or was killed, has none.
   * @throws not_ready while another process may hold a mark that it could not store
   */
  async refuseSilence(until: number): Promise<void> {
    const { database } = this.parts;
    if (!database.isShared) return;
    const before = await fullUpdateStore.listOtherProcesses(database);
    const notReady = new ServiceError('not_ready', { retryAfterSeconds: 1 });
    for (let waiting = [...before.keys()]; waiting.length > 0; ) {
      await delay(CHECK_EVERY_MS);
      const now = await fullUpdateStore.listOtherProcesses(database);
      // Whether one ended in order or was killed is in the state of the full update when the caller asks again.
      if (performance.now() > until || waiting.some((id) => !now.has(id))) throw notReady;
      waiting = waiting.filter((id) => now.get(id) === before.get(id));
    }
  }

  private hold(mark: fullUpdateStore.FailedBatch): void {
    const known = this.marks.size < MOST_MARKS ? mark : { ...mark, projectId: undefined };
    this.marks.set(`${known.projectId} ${known.state}`, known);
  }

  private async storeMarks(): Promise<void> {
    for (const [key, mark] of [...this.marks]) {
      await fullUpdateStore.markFailedBatch(this.parts.database, this.origin, mark);
      if (this.marks.get(key) === mark) this.marks.delete(key);
    }
    for (const batch of this.lost) {
      await fullUpdateStore.endLostBatch(this.parts.database, batch);
      this.lost.delete(batch);
    }
  }

  private async beat(): Promise<void> {
    const { database, logger } = this.parts;
    try {
      await this.storeMarks();
      if (!database.isShared) return;
      const begunAt = performance.now();
      await fullUpdateStore.noteProcess(database, this.takesBatches);
      this.beatAt = begunAt;
      this.steadySince = Math.min(this.steadySince, begunAt);
      // After an outage, others come back within moments too.
      if (begunAt - this.steadySince >= SILENT_MS)
        await fullUpdateStore.removeGoneProcesses(database, this.origin, GONE_MS);
    } catch (error) {
      this.steadySince = Number.POSITIVE_INFINITY;
      // Marks stay in memory and are stored by the next beat.
      logger.debug({ err: error }, 'marks of failed batches cannot be stored now');
    }
  }
}
