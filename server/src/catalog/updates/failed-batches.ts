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

/** How often a process reports that it is alive and has stored all its marks. */
const BEAT_MS = 1_000;
/** A process not seen for this long is silent. No commit is accepted until it reports again or counts as dead. */
const SILENT_MS = 5_000;
const TRY_EVERY_MS = 250;
/**
 * How long a commit waits for arriving batches and for the next beat of other processes. Callers stop waiting after 3
 * s.
 */
export const COMMIT_WAIT_MS = 2_500;
const CHECK_EVERY_MS = 100;
/** The limit exists because unknown callers can name any number of projects while keys cannot be checked. */
const MOST_MARKS = 1_000;

type Parts = Pick<CatalogParts, 'database' | 'clock' | 'logger'>;

/**
 * Prevents a commit from running without a batch that was refused or is arriving. A batch has a row before it is
 * read, so the store counts it whatever happens next. If the database is unreachable or the disk full, a failed batch
 * is noted here until it can be stored. A process that ends before storing it puts open full updates in doubt.
 * Source: docs/interface §3.1 rules 3, 10 and 11.
 */
export class FailedBatches {
  private readonly database: Parts['database'];
  private readonly clock: Parts['clock'];
  private readonly logger: Parts['logger'];
  private readonly marks = new Map<string, FailedBatch>();
  /** Failed batches whose rows still exist. Only this process knows that they will not arrive. */
  private readonly lost = new Set<ArrivingBatch>();
  private expected = 0;
  private takesBatches = true;
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> | undefined;
  /** Times by the clock of this process: the last beat, and the first beat since the last failure. */
  private beatAt = Number.NEGATIVE_INFINITY;
  private steadySince = Number.POSITIVE_INFINITY;

  constructor({ database, clock, logger }: Parts) {
    this.database = database;
    this.clock = clock;
    this.logger = logger;
  }

  /**
   * Call it before batches are accepted. A process that accepts no batches calls it too, because it also belongs in
   * the list of processes that others read.
   */
  async start(takesBatches: boolean): Promise<void> {
    const { database } = this;
    this.takesBatches = takesBatches;
    // The lock of the data directory is held, so processes that are still listed were killed.
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

  /** Removes the row of this process, unless its failed batches cannot be stored. */
  async close(): Promise<void> {
    if (this.timer === undefined) return;
    clearInterval(this.timer);
    await this.beating;
    await this.storeMarks();
    await removeProcess(this.database);
  }

  /** @returns the batch, which the full update counts from now on; undefined if no full update is open */
  expect(projectId: number, chosen: ChosenSession): Promise<ArrivingBatch | undefined> {
    const { database } = this;
    this.expected += 1;
    const batch = { projectId, processId: database.processId, number: this.expected };
    return expectBatch(database, { ...batch, origin: ORIGIN_OF_CALLERS, ...chosen });
  }

  /** Ends the count of the batch of a repeated request, which was accepted before. */
  async endRepeated(arriving: ArrivingBatch | undefined): Promise<void> {
    if (arriving !== undefined) await endExpected(this.database, arriving, false);
  }

  /**
   * Notes a batch that is about to be answered with an error. If the batch has no row, the answer waits until its
   * mark is stored, or until other processes see that this process is silent.
   * @param failed undefined if the error does not concern the open full update
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
    // Until a beat removes the row, a commit waits for the batch or is refused, which is safe.
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
        // This process does not beat while it holds a mark, so the loop ends.
        if (this.database.isShared && performance.now() - this.beatAt <= SILENT_MS) continue;
        this.logger.warn(
          { err: error, project: projectId },
          'storing the failure of a batch failed; this process keeps it in memory and retries',
        );
        return;
      }
    }
  }

  /** Call it when a batch was accepted, or when another full update began. */
  forget(projectId: number): void {
    for (const [key, mark] of this.marks) if (mark.projectId === projectId) this.marks.delete(key);
  }

  /** @returns the stored state of the batches, combined with failures that this process could not store */
  stateOf(update: FullUpdate): BatchesState {
    const { id, projectId, openedBy, batchAt, arriving } = update;
    const lostCount = [...this.lost].filter((batch) => batch.id === id).length;
    if (lostCount > 0) return { lastBatch: 'failed', arriving: arriving - lostCount };
    const marks = [...this.marks.values()].filter(
      (mark) =>
        (mark.projectId ?? projectId) === projectId &&
        (mark.caller === undefined || openedBy === undefined || mark.caller === openedBy) &&
        mark.at >= batchAt,
    );
    const states = [update.lastBatch, ...marks.map(({ state }) => state)];
    const worst = (['failed', 'in doubt'] as const).find((state) => states.includes(state));
    return { lastBatch: worst ?? 'accepted', arriving };
  }

  /**
   * Waits until no batch of the open full update is arriving at any process. `find` rereads the full update, or
   * throws.
   * @returns the full update at that time, or when `until` has passed
   */
  async waitForArriving(find: () => Promise<FullUpdate>, until: number): Promise<FullUpdate> {
    for (; ; await delay(CHECK_EVERY_MS)) {
      const open = await find();
      if (this.stateOf(open).arriving <= 0 || performance.now() > until) return open;
    }
  }

  /**
   * Waits for a beat of every other process. A process that holds a mark, or that was killed, does not beat.
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
      // When the caller retries, the state of the full update shows whether the process ended properly or was killed.
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
      // After an outage, other processes may also need some time until they report again.
      if (begunAt - this.steadySince >= SILENT_MS)
        await removeGoneProcesses(database, ORIGIN_OF_CALLERS, GONE_MS);
    } catch (error) {
      this.steadySince = Number.POSITIVE_INFINITY;
      // Marks remain in memory and are stored at the next beat.
      this.logger.debug(
        { err: error },
        'storing the failures of batches failed; this process keeps them in memory and retries',
      );
    }
  }
}
