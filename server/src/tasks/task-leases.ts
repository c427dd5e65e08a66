import { randomBytes } from 'node:crypto';
import type { Logger } from '../kernel/logger.ts';
import type { Database } from '../storage/storage.ts';
import { BACK_OFF_MS, logTrouble, Poll, pause } from './poll.ts';
import { type Lane, laneKey, type Task } from './task.ts';
import {
  claimNext,
  findClaims,
  LEASE_MS,
  listClaimable,
  type RunnableKind,
  renewLeases,
} from './task-lease-store.ts';

const RENEW_MS = 3_000;
/** How soon a process finds what others accepted or lost, and that a run of its own is to be cancelled or taken over. */
const POLL_MS = 500;
const SLOWEST_POLL_MS = 3_000;
/** A poll reads all open tasks, 20 ms for 20,000 of them: it may keep the database busy for a twentieth of the time. */
const REST = 20;
/** Per process; further tasks wait. Most of a run is waiting for the store. */
const RUNS_AT_ONCE = 64;
/**
 * Where several processes work, each takes only so many more between two polls, so that one that runs fewer gets what
 * comes.
 */
const SHARE = 8;

/** What becomes of a task that this process holds. */
export interface LeaseEvents {
  /** Another process has it by now. */
  onLost(): void;
  onCancelRequested(): void;
}

interface Lease extends LeaseEvents {
  readonly task: Task;
  /** By the clock of this process alone. */
  renewedAt: number;
}

/** The tasks that this process holds, whether it runs them or keeps them from running, and that it is still there. */
export class TaskLeases {
  readonly owner = randomBytes(8).toString('hex');
  private readonly database: Database;
  private readonly leases = new Map<number, Lease>();
  private readonly polls: readonly Poll[];

  constructor({ database, logger }: { database: Database; logger: Logger }) {
    this.database = database;
    const parts = { logger, subject: 'leases of tasks' };
    const renewing = new Poll({
      ...{ ...parts, restMs: RENEW_MS },
      round: () => this.renew([...this.leases.values()]),
    });
    const checking = new Poll({ ...parts, restMs: POLL_MS, round: () => this.check() });
    // In an embedded store no other process uses the tasks.
    this.polls = database.isShared ? [renewing, checking] : [renewing];
  }

  start(): void {
    for (const poll of this.polls) poll.start();
  }

  async close(): Promise<void> {
    await Promise.all(this.polls.map((poll) => poll.close()));
  }

  /** Renews a task's lease from now on. `since`: when it was leased or before. */
  add(task: Task, events: LeaseEvents, since = performance.now()): void {
    this.leases.set(task.number, { task, ...events, renewedAt: since });
  }

  has({ number }: Task): boolean {
    return this.leases.has(number);
  }

  drop({ number }: Task): void {
    this.leases.delete(number);
  }

  /**
   * Makes sure of a lease before a task takes effect: a process that stood still may have lost it and not know. One that
   * is lost is handed back.
   * @throws not_ready, storage_full
   */
  async confirm({ number }: Task): Promise<void> {
    const lease = this.leases.get(number);
    if (lease === undefined || !this.database.isShared) return;
    if (performance.now() - lease.renewedAt > LEASE_MS / 2) await this.renew([lease]);
  }

  private async renew(leases: readonly Lease[]): Promise<void> {
    if (leases.length === 0) return;
    const begunAt = performance.now();
    const tasks = leases.map(({ task }) => task);
    const renewed = await renewLeases(this.database, this.owner, tasks);
    for (const lease of leases) {
      if (renewed.has(lease.task.number)) lease.renewedAt = begunAt;
      else this.lose(lease);
    }
  }

  private async check(): Promise<void> {
    if (this.leases.size === 0) return;
    const leases = new Map(this.leases);
    const tasks = [...leases.values()].map(({ task }) => task);
    for (const { number, owner, cancel } of await findClaims(this.database, tasks)) {
      const lease = leases.get(number);
      if (lease === undefined) continue;
      if (owner !== this.owner) this.lose(lease);
      else if (cancel === 'requested') lease.onCancelRequested();
    }
  }

  /** Unless it was given up meanwhile. */
  private lose(lease: Lease): void {
    if (this.leases.get(lease.task.number) === lease) lease.onLost();
  }
}

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
 * this process; where other processes work too, it also polls.
 */
export class TaskClaims {
  private readonly parts: ClaimParts;
  private readonly stopped = new AbortController();
  private readonly poll: Poll;
  private isStarted = false;
  /** Lanes that may have a task to run, by their keys; first come, first served. */
  private readonly waitingLanes = new Map<string, Lane>();
  private mayRun = RUNS_AT_ONCE;
  private isClaiming = false;
  private claiming: Promise<void> = Promise.resolve();

  constructor(parts: ClaimParts) {
    this.parts = parts;
    const { database, logger } = parts;
    // In an embedded store no other process accepts tasks or loses them.
    const restMs = database.isShared ? restAfter : Number.POSITIVE_INFINITY;
    this.poll = new Poll({ logger, subject: 'tasks', restMs, round: () => this.findLanes() });
  }

  start(): void {
    this.isStarted = true;
    this.poll.start();
  }

  /** No task begins here any more once it is done. */
  async close(): Promise<void> {
    this.stopped.abort();
    await Promise.all([this.claiming, this.poll.close()]);
  }

  /** Claims what can run now in a lane, or, without one, in all. */
  wake(lane?: Lane): void {
    if (!this.isStarted || this.stopped.signal.aborted) return;
    if (lane !== undefined) this.addLane(lane);
    // Otherwise it is polled.
    else if (!this.parts.database.isShared) this.poll.wake();
  }

  /** Resolves when the tasks being claimed have begun. */
  async settle(): Promise<void> {
    await this.claiming;
  }

  private addLane(lane: Lane): void {
    this.waitingLanes.set(laneKey(lane), lane);
    if (!this.isClaiming) this.claiming = this.claimLanes();
  }

  private async claimLanes(): Promise<void> {
    this.isClaiming = true;
    for (const [key, lane] of this.waitingLanes) {
      if (this.stopped.signal.aborted || !this.hasRoom()) break;
      this.waitingLanes.delete(key);
      try {
        await this.claim(lane);
      } catch (error) {
        // Waiting tasks are stored: without a database they wait, and a fault must not end the claiming of all others.
        logTrouble(this.parts.logger, 'tasks could not be claimed, it is tried again', { err: error });
        await pause(BACK_OFF_MS, this.stopped.signal);
        this.waitingLanes.set(key, lane);
      }
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

  private async findLanes(): Promise<void> {
    const { database, listKinds, countRuns } = this.parts;
    if (database.isShared) this.mayRun = Math.min(RUNS_AT_ONCE, countRuns() + SHARE);
    const limit = database.isShared ? this.mayRun - countRuns() : Number.MAX_SAFE_INTEGER;
    if (limit === 0) return;
    for (const lane of await listClaimable(database, { kinds: listKinds(), limit })) this.addLane(lane);
  }
}

function restAfter(tookMs: number): number {
  // Processes that were started together do not poll together.
  const jitter = 0.75 + Math.random() / 2;
  return Math.max(POLL_MS, Math.min(SLOWEST_POLL_MS, tookMs * REST)) * jitter;
}
