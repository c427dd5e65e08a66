import { BACK_OFF_MS, logTrouble, Poll, pause } from './poll.ts';
import { type Lane, laneKey, type Task } from './task.ts';
import { claimNext, listClaimable, type RunnableKind } from './task-lease-store.ts';
import { POLL_MS } from './task-leases.ts';
import type { TaskParts } from './task-runner.ts';

const SLOWEST_POLL_MS = 3_000;
/**
 * The pause after a poll, as a multiple of its duration, so that polls use at most a twentieth of the database's time.
 * A poll reads all open tasks, 20 ms for 20,000.
 */
const REST = 20;
/** The limit for a process, beyond which tasks wait. A run spends most of its time waiting for the store. */
const RUNS_AT_ONCE = 64;
/**
 * The most tasks that each of several processes adds between two polls, so that a process with fewer tasks gets the new
 * ones.
 */
const SHARE = 8;

interface ClaimParts extends Pick<TaskParts, 'database' | 'logger'> {
  readonly owner: string;
  readonly stopped: AbortSignal;
  countRuns(): number;
  /** @returns the kinds of which this process may run another task */
  listFreeKinds(): readonly RunnableKind[];
  /** @param since an instant before the claim, by the clock of this process */
  begin(task: Task, since: number): void;
}

/**
 * Claims tasks for this process, one per lane at a time, while it has room to run them. It is woken for a lane in which
 * this process accepted or ended a task. On a shared database it also polls.
 */
export class TaskClaims {
  private readonly parts: ClaimParts;
  private readonly poll: Poll;
  /** Lanes that may have a task to run, by their keys, in the order in which they were added. */
  private readonly waitingLanes = new Map<string, Lane>();
  private isStarted = false;
  private mayRun = RUNS_AT_ONCE;
  private isListing = false;
  private isClaiming = false;
  private claiming: Promise<void> = Promise.resolve();

  constructor(parts: ClaimParts) {
    const { database, logger } = parts;
    this.parts = parts;
    // No other process accepts or loses tasks in an embedded store.
    const restMs = database.isShared ? restAfter : Number.POSITIVE_INFINITY;
    this.poll = new Poll({ logger, subject: 'tasks', restMs, round: () => this.findLanes() });
  }

  start(): void {
    this.isStarted = true;
    this.poll.start();
  }

  /** Call this after the signal has aborted. */
  async close(): Promise<void> {
    await Promise.all([this.claiming, this.poll.close()]);
  }

  /** Resolves when the runs of all tasks that are being claimed have begun. */
  settle(): Promise<void> {
    return this.claiming;
  }

  /** Claims the tasks that can run now, in the given lane or in all lanes. */
  wake(lane?: Lane): void {
    const { database, stopped } = this.parts;
    if (!this.isStarted || stopped.aborted) return;
    if (lane !== undefined) this.addLane(lane);
    // On a shared database, the periodic poll finds the tasks of all lanes.
    else if (!database.isShared) this.poll.wake();
  }

  private addLane(lane: Lane): void {
    this.waitingLanes.set(laneKey(lane), lane);
    if (!this.isClaiming) this.claiming = this.claimLanes();
  }

  private async claimLanes(): Promise<void> {
    const { logger, stopped } = this.parts;
    this.isClaiming = true;
    for (const [key, lane] of this.waitingLanes) {
      if (stopped.aborted || !this.hasRoom()) break;
      this.waitingLanes.delete(key);
      try {
        await this.claim(lane);
      } catch (err) {
        // Waiting tasks are stored and can wait for the database. A fault must not prevent the claiming of other tasks.
        logTrouble(logger, 'claiming a task failed; retrying in 2 s', { err });
        await pause(BACK_OFF_MS, stopped);
        this.waitingLanes.set(key, lane);
      }
    }
    this.isClaiming = false;
  }

  private async claim(lane: Lane): Promise<void> {
    const { database, owner, listFreeKinds, begin } = this.parts;
    const since = performance.now();
    const task = await claimNext(database, { owner, kinds: listFreeKinds(), lane });
    if (task !== undefined) begin(task, since);
  }

  /** Waiting tasks are claimed when a run ends, or on a shared database by the first process that polls. */
  private hasRoom(): boolean {
    const isFree = this.parts.countRuns() < this.mayRun;
    // Lanes that are added during a listing wait behind the listed ones.
    if (!isFree && this.parts.database.isShared && !this.isListing) this.waitingLanes.clear();
    return isFree;
  }

  private async findLanes(): Promise<void> {
    const { database, listFreeKinds } = this.parts;
    const runs = this.parts.countRuns();
    const most = database.isShared ? Math.min(RUNS_AT_ONCE, runs + SHARE) : RUNS_AT_ONCE;
    const limit = database.isShared ? most - runs : Number.MAX_SAFE_INTEGER;
    if (limit === 0) return;
    this.isListing = true;
    const listed = await listClaimable(database, { kinds: listFreeKinds(), limit }).finally(() => {
      this.isListing = false;
    });
    const later = [...this.waitingLanes.values()];
    this.waitingLanes.clear();
    // Room is added only now. Tasks accepted during the listing would otherwise take it from waiting tasks.
    this.mayRun = most;
    for (const lane of [...listed, ...later]) this.addLane(lane);
  }
}

function restAfter(tookMs: number): number {
  // The random factor prevents processes that started together from polling together.
  const jitter = 0.75 + Math.random() / 2;
  return Math.max(POLL_MS, Math.min(SLOWEST_POLL_MS, tookMs * REST)) * jitter;
}
