import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../kernel/errors.ts';
import { GONE_MS } from '../../storage/postgres/postgres.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import { type ArrivingBatch, endExpected, expectBatch } from './batch-store.ts';
import {
  type BatchesState,
  type ChosenSession,
  type FullUpdate,
  ORIGIN_OF_CALLERS,
} from './full-update-store.ts';
import {
  endLostBatch,
  type FailedBatch,
  listOtherProcesses,
  markFailedBatch,
  noteProcess,
  removeGoneProcesses,
  removeProcess,
} from './upload-process-store.ts';

/** How often a process reports that it is alive and has no mark left to store. */
const BEAT_MS = 1_000;
/** A process not seen for this long is silent: no commit is accepted until it is back or counts as dead. */
const SILENT_MS = 5_000;
const TRY_EVERY_MS = 250;
/** How long a commit waits for arriving batches and for the next beat of other processes: callers give up after 3 s. */
export const COMMIT_WAIT_MS = 2_500;
const CHECK_EVERY_MS = 100;
/** Limited, as unknown callers can name any number of projects while keys cannot be checked. */
const MOST_MARKS = 1_000;

type Parts = Pick<CatalogParts, 'database' | 'clock' | 'logger'>;

/**
 * Keeps a commit from running without a batch that was refused or is arriving. A batch has a row before it is
 * read, so the store knows of it whatever happens next. What could not be stored, because the database was
 * unreachable or the disk full, is held here until it can be; a process that ends without having stored it
 * puts open full updates in doubt. Source: docs/interface §3.1 rules 3, 10 and 11.
 */
export class FailedBatches {
  private readonly database: Parts['database'];
  private readonly clock: Parts['clock'];
  private readonly logger: Parts['logger'];
  private readonly marks = new Map<string, FailedBatch>();
  /** Failed batches whose rows still exist: only their process knows that they will not arrive. */
  private readonly lost = new Set<ArrivingBatch>();
  private expected = 0;
  private takesBatches = true;
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> | undefined;
  /** By the clock of this process: the last beat, and the first one since the last failure. */
  private beatAt = Number.NEGATIVE_INFINITY;
  private steadySince = Number.POSITIVE_INFINITY;

  constructor({ database, clock, logger }: Parts) {
    this.database = database;
    this.clock = clock;
    this.logger = logger;
  }

  /** Called before batches are accepted, also by a process that accepts none, as others see it in the same list. */
  async start(takesBatches: boolean): Promise<void> {
    const { database } = this;
    this.takesBatches = takesBatches;
    // The lock of the data folder shows that processes still listed were killed.
    if (!database.isShared) await removeGoneProcesses(database, ORIGIN_OF_CALLERS);
    this.beatAt = performance.now();
    await noteProcess(database, takesBatches);
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
    await removeProcess(this.database);
  }

  /** @returns the batch, which the full update counts from now on; undefined if none is open */
  expect(projectId: number, chosen: ChosenSession): Promise<ArrivingBatch | undefined> {
    const { database } = this;
    this.expected += 1;
    const batch = { projectId, processId: database.processId, number: this.expected };
    return expectBatch(database, { ...batch, origin: ORIGIN_OF_CALLERS, ...chosen });
  }

  /** The batch of a repeated request was accepted before. */
  async endRepeated(arriving: ArrivingBatch | undefined): Promise<void> {
    if (arriving !== undefined) await endExpected(this.database, arriving, false);
  }

  /**
   * Notes a batch that is about to be answered with an error. If nothing of it is stored, it is answered once its mark is, or
   * once other processes see that this one is silent. @param failed undefined: it says nothing about the open full update
   */
  async note(
    failed: Omit<FailedBatch, 'at'> | undefined,
    arriving: ArrivingBatch | undefined,
  ): Promise<void> {
    if (arriving !== undefined) return this.endFailed(arriving);
    if (failed === undefined) return;
    this.hold({ ...failed, at: this.clock.now() });
    await this.storeSoon(failed.projectId);
  }

  private async endFailed(arriving: ArrivingBatch): Promise<void> {
    // Until a beat removes its row, a commit waits for it or is refused, which is safe.
    await endExpected(this.database, arriving, true).catch((error: unknown) => {
      this.lost.add(arriving);
      this.logger.warn(
        { err: error, fullUpdate: arriving.id },
        'storing the failure of a batch failed; until a retry succeeds, a commit of its full update waits or is refused',
      );
    });
  }

  private async storeSoon(projectId: number | undefined): Promise<void> {
    for (; ; await delay(TRY_EVERY_MS)) {
      try {
        return await this.storeMarks();
      } catch (error) {
        // There is no beat while a mark is held, so this ends.
        if (this.database.isShared && performance.now() - this.beatAt <= SILENT_MS) continue;
        this.logger.warn(
          { err: error, project: projectId },
          'storing the failure of a batch failed; this process keeps it in memory and retries',
        );
        return;
      }
    }
  }

  /** Call it when a batch was accepted, or another full update begun. */
  forget(projectId: number): void {
    for (const [key, mark] of this.marks) if (mark.projectId === projectId) this.marks.delete(key);
  }

  /** What is stored about the batches, plus failures that this process could not store. */
  stateOf(update: FullUpdate): BatchesState {
    const { id, projectId, openedBy, batchAt, arriving } = update;
    const gone = [...this.lost].filter((batch) => batch.id === id).length;
    if (gone > 0) return { lastBatch: 'failed', arriving: arriving - gone };
    const held = [...this.marks.values()].filter(
      (mark) =>
        (mark.projectId ?? projectId) === projectId &&
        (mark.caller === undefined || openedBy === undefined || mark.caller === openedBy) &&
        mark.at >= batchAt,
    );
    const states = [update.lastBatch, ...held.map(({ state }) => state)];
    const worst = (['failed', 'in doubt'] as const).find((state) => states.includes(state));
    return { lastBatch: worst ?? 'accepted', arriving };
  }

  /**
   * Waits until no batch of the open full update is arriving at any process. `find` rereads it, or throws.
   * @returns the full update at that time, or when `until` has passed
   */
  async waitForArriving(find: () => Promise<FullUpdate>, until: number): Promise<FullUpdate> {
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
    const { database } = this;
    if (!database.isShared) return;
    const before = await listOtherProcesses(database);
    const notReady = new ServiceError('not_ready', { retryAfterSeconds: 1 });
    for (let waiting = [...before.keys()]; waiting.length > 0; ) {
      await delay(CHECK_EVERY_MS);
      const now = await listOtherProcesses(database);
      // If the caller asks again, the state of the full update shows whether one ended properly or was killed.
      if (performance.now() > until || waiting.some((id) => !now.has(id))) throw notReady;
      waiting = waiting.filter((id) => now.get(id) === before.get(id));
    }
  }

  private hold(mark: FailedBatch): void {
    const { marks } = this;
    const named = marks.size < MOST_MARKS ? mark : { ...mark, projectId: undefined, caller: undefined };
    marks.set(`${named.projectId} ${named.state} ${named.caller}`, named);
  }

  private async storeMarks(): Promise<void> {
    const { database, marks, lost } = this;
    for (const [key, mark] of [...marks]) {
      await markFailedBatch(database, ORIGIN_OF_CALLERS, mark);
      if (marks.get(key) === mark) marks.delete(key);
    }
    for (const batch of lost) {
      await endLostBatch(database, batch);
      lost.delete(batch);
    }
  }

  private async beat(): Promise<void> {
    const { database } = this;
    try {
      await this.storeMarks();
      if (!database.isShared) return;
      const begunAt = performance.now();
      await noteProcess(database, this.takesBatches);
      this.beatAt = begunAt;
      this.steadySince = Math.min(this.steadySince, begunAt);
      // After an outage, other processes may take moments to come back too.
      if (begunAt - this.steadySince >= SILENT_MS)
        await removeGoneProcesses(database, ORIGIN_OF_CALLERS, GONE_MS);
    } catch (error) {
      this.steadySince = Number.POSITIVE_INFINITY;
      // Marks stay in memory and are stored at the next beat.
      this.logger.debug(
        { err: error },
        'storing the failures of batches failed; this process keeps them in memory and retries',
      );
    }
  }
}
