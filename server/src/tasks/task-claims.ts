import type { Logger } from '../kernel/logger.ts';
import type { Database } from '../storage/storage.ts';
import { type Lane, laneKey, type Task } from './task.ts';
import { claimNext, listClaimable } from './task-lease-store.ts';
import type { RunnableKind } from './task-room-store.ts';
import { isTransient, pause } from './task-runner.ts';

/** Per process; further tasks wait. Most of a run is waiting for the store. */
const RUNS_AT_ONCE = 64;
/**
 * Where several processes work, each takes only so many more between two looks, so that one that runs fewer gets what
 * comes.
 */
const SHARE = 8;
/** How soon a process finds what others accepted, or lost. */
const LOOK_MS = 500;
const SLOWEST_LOOK_MS = 3_000;
/** A look reads all open tasks, 20 ms for 20,000 of them: it may keep the database busy for a twentieth of the time. */
const REST = 20;
/** While the database is away. */
const BACK_OFF_MS = 2_000;

export interface ClaimParts {
  readonly database: Database;
  readonly logger: Logger;
  readonly owner: string;
  /** What can be run here. */
  listKinds(): readonly RunnableKind[];
  countRuns(): number;
  /** `since`: an instant before the claim, by the clock of this process. */
  begin(task: Task, since: number): void;
}

/**
 * Takes tasks out of the database to run them here. It is woken for a lane when a task was accepted or ended in it, in
 * this process; where other processes work too, it also looks from time to time.
 */
export class TaskClaims {
  private readonly parts: ClaimParts;
  private readonly stopped = new AbortController();
  private isStarted = false;
  /** Lanes that may have a task to run, by their keys; first come, first served. */
  private readonly waitingLanes = new Map<string, Lane>();
  private mayRun = RUNS_AT_ONCE;
  private isClaiming = false;
  private claiming: Promise<void> = Promise.resolve();
  private looking: Promise<void> = Promise.resolve();

  constructor(parts: ClaimParts) {
    this.parts = parts;
  }

  start(): void {
    this.isStarted = true;
    this.looking = this.look();
  }

  /** No task begins here any more once it is done. */
  async close(): Promise<void> {
    this.stopped.abort();
    await Promise.all([this.claiming, this.looking]);
  }

  /** Claims what can run now in a lane, or, without one, in all. */
  wake(lane?: Lane): void {
    if (!this.isStarted || this.stopped.signal.aborted) return;
    if (lane !== undefined) this.want(lane);
    // Otherwise it is polled.
    else if (!this.parts.database.isShared) this.looking = this.looking.then(() => this.look());
  }

  /** Resolves when the tasks being claimed have begun. */
  async settle(): Promise<void> {
    await this.claiming;
  }

  private want(lane: Lane): void {
    this.waitingLanes.set(laneKey(lane), lane);
    if (!this.isClaiming) this.claiming = this.claimWanted();
  }

  private async claimWanted(): Promise<void> {
    this.isClaiming = true;
    for (const [key, lane] of this.waitingLanes) {
      if (this.stopped.signal.aborted || !this.hasRoom()) break;
      this.waitingLanes.delete(key);
      if (!(await this.survive(() => this.claim(lane)))) this.waitingLanes.set(key, lane);
    }
    this.isClaiming = false;
  }

  /** Waiting tasks are claimed when a run ends; with polling, the first process to poll claims them. */
  private hasRoom(): boolean {
    const { database, countRuns } = this.parts;
    const hasRoom = countRuns() < this.mayRun;
    if (!hasRoom && database.isShared) this.waitingLanes.clear();
    return hasRoom;
  }

  private async claim(lane: Lane): Promise<void> {
    const { database, owner, listKinds, begin } = this.parts;
    const since = performance.now();
    const task = await claimNext(database, { owner, kinds: listKinds(), lane });
    if (task !== undefined) begin(task, since);
  }

  /** Once in an embedded store, where nobody else accepts tasks or loses them. */
  private async look(): Promise<void> {
    const { isShared } = this.parts.database;
    while (!this.stopped.signal.aborted) {
      const begunAt = performance.now();
      const isDone = await this.survive(() => this.lookOnce());
      if (isDone && !isShared) return;
      const restMs = isDone ? Math.min(SLOWEST_LOOK_MS, (performance.now() - begunAt) * REST) : 0;
      // Processes that were started together do not ask together.
      const jitter = 0.75 + Math.random() / 2;
      await pause(Math.max(LOOK_MS, restMs) * jitter, this.stopped.signal);
    }
  }

  private async lookOnce(): Promise<void> {
    const { database, listKinds, countRuns } = this.parts;
    if (database.isShared) this.mayRun = Math.min(RUNS_AT_ONCE, countRuns() + SHARE);
    const limit = database.isShared ? this.mayRun - countRuns() : Number.MAX_SAFE_INTEGER;
    if (limit === 0) return;
    for (const lane of await listClaimable(database, { kinds: listKinds(), limit })) this.want(lane);
  }

  /** @returns whether it was done; after a pause when it was not */
  private async survive(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      // Waiting tasks are stored: without a database they wait, and a fault must not end the claiming of all others.
      const { logger } = this.parts;
      const log = isTransient(error) ? logger.warn : logger.error;
      log.call(logger, { err: error }, 'tasks could not be claimed, it is tried again');
      await pause(BACK_OFF_MS, this.stopped.signal);
      return false;
    }
  }
}
