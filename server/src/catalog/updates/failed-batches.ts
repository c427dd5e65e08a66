import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../kernel/errors.ts';
import { GONE_MS } from '../../storage/postgres/postgres.ts';
import type { CatalogParts } from '../catalog-parts.ts';
import {
  type ArrivingBatch,
  type BatchesState,
  type ChosenSession,
  endExpected,
  endLostBatch,
  expectBatch,
  type FailedBatch,
  type FullUpdate,
  listOtherProcesses,
  markFailedBatch,
  noteProcess,
  removeGoneProcesses,
  removeProcess,
} from './full-update-store.ts';

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
/** @param origin of the full updates */
export function createFailedBatches({ database, clock, logger }: Parts, origin: string) {
  const marks = new Map<string, FailedBatch>();
  /** Failed batches whose rows still exist: only their process knows that they will not arrive. */
  const lost = new Set<ArrivingBatch>();
  let expected = 0;
  let timer: NodeJS.Timeout | undefined;
  let takesBatches = true;
  let beating: Promise<void> | undefined;
  /** By the clock of this process: the last beat, and the first one since the last failure. */
  let beatAt = Number.NEGATIVE_INFINITY;
  let steadySince = Number.POSITIVE_INFINITY;

  /** Called before batches are accepted, also by a process that accepts none, as others see it in the same list. */
  async function start(takes: boolean): Promise<void> {
    takesBatches = takes;
    // The lock of the data folder shows that processes still listed were killed.
    if (!database.isShared) await removeGoneProcesses(database, origin);
    beatAt = performance.now();
    await noteProcess(database, takesBatches);
    timer = setInterval(() => {
      beating ??= beat().finally(() => {
        beating = undefined;
      });
    }, BEAT_MS);
    timer.unref();
  }

  /** A process that cannot store its failed batches leaves its row. */
  async function close(): Promise<void> {
    if (timer === undefined) return;
    clearInterval(timer);
    await beating;
    await storeMarks();
    await removeProcess(database);
  }

  /** @returns the batch, which the full update counts from now on; undefined if none is open */
  function expect(projectId: number, chosen: ChosenSession) {
    expected += 1;
    const batch = { projectId, processId: database.processId, number: expected };
    return expectBatch(database, { ...batch, origin, ...chosen });
  }

  /** The batch of a repeated request was accepted before. */
  async function endRepeated(arriving: ArrivingBatch | undefined): Promise<void> {
    if (arriving !== undefined) await endExpected(database, arriving, false);
  }

  /**
   * Notes a batch that is about to be answered with an error. If nothing of it is stored, it is answered once its mark is, or
   * once other processes see that this one is silent. @param failed undefined: it says nothing about the open full update
   */
  async function note(
    failed: Omit<FailedBatch, 'at'> | undefined,
    arriving: ArrivingBatch | undefined,
  ): Promise<void> {
    if (arriving !== undefined) {
      // Until a beat removes its row, a commit waits for it or is refused, which is safe.
      await endExpected(database, arriving, true).catch((error: unknown) => {
        lost.add(arriving);
        logger.warn({ err: error, fullUpdateId: arriving.id }, 'a failed batch counts as arriving for now');
      });
      return;
    }
    if (failed === undefined) return;
    hold({ ...failed, at: clock.now() });
    await storeSoon(failed.projectId);
  }

  async function storeSoon(projectId: number | undefined): Promise<void> {
    for (; ; await delay(TRY_EVERY_MS)) {
      try {
        return await storeMarks();
      } catch (error) {
        // There is no beat while a mark is held, so this ends.
        if (database.isShared && performance.now() - beatAt <= SILENT_MS) continue;
        logger.warn({ err: error, project: projectId }, 'a failed batch is only noted in memory');
        return;
      }
    }
  }

  /** Call it when a batch was accepted, or another full update begun. */
  function forget(projectId: number): void {
    for (const [key, mark] of marks) if (mark.projectId === projectId) marks.delete(key);
  }

  /** What is stored about the batches, plus failures that this process could not store. */
  function stateOf(update: FullUpdate): BatchesState {
    const { id, projectId, openedBy, batchAt, arriving } = update;
    const gone = [...lost].filter((batch) => batch.id === id).length;
    if (gone > 0) return { lastBatch: 'failed', arriving: arriving - gone };
    const held = [...marks.values()].filter(
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
  async function waitForArriving(find: () => Promise<FullUpdate>, until: number) {
    for (; ; await delay(CHECK_EVERY_MS)) {
      const open = await find();
      if (stateOf(open).arriving <= 0 || performance.now() > until) return open;
    }
  }

  /**
   * Waits for a beat of every other process: one that holds a mark, or was killed, has none.
   * @throws not_ready while another process may hold a mark that it could not store
   */
  async function refuseSilence(until: number): Promise<void> {
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

  function hold(mark: FailedBatch): void {
    const known = marks.size < MOST_MARKS ? mark : { ...mark, projectId: undefined, caller: undefined };
    marks.set(`${known.projectId} ${known.state} ${known.caller}`, known);
  }

  async function storeMarks(): Promise<void> {
    for (const [key, mark] of [...marks]) {
      await markFailedBatch(database, origin, mark);
      if (marks.get(key) === mark) marks.delete(key);
    }
    for (const batch of lost) {
      await endLostBatch(database, batch);
      lost.delete(batch);
    }
  }

  async function beat(): Promise<void> {
    try {
      await storeMarks();
      if (!database.isShared) return;
      const begunAt = performance.now();
      await noteProcess(database, takesBatches);
      beatAt = begunAt;
      steadySince = Math.min(steadySince, begunAt);
      // After an outage, other processes may take moments to come back too.
      if (begunAt - steadySince >= SILENT_MS) await removeGoneProcesses(database, origin, GONE_MS);
    } catch (error) {
      steadySince = Number.POSITIVE_INFINITY;
      // Marks stay in memory and are stored at the next beat.
      logger.debug({ err: error }, 'marks of failed batches cannot be stored now');
    }
  }

  return { start, close, expect, endRepeated, note, forget, stateOf, waitForArriving, refuseSilence };
}
