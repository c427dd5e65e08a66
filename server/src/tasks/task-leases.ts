import { randomBytes } from 'node:crypto';
import type { Logger } from '../kernel/logger.ts';
import type { Database } from '../storage/storage.ts';
import type { Task } from './task.ts';
import { findClaims, LEASE_MS, renewLeases } from './task-lease-store.ts';
import { isTransient, pause } from './task-runner.ts';

const RENEW_MS = 3_000;
/** How soon a run hears that it is to be cancelled, or that another process has its task. */
const LOOK_MS = 500;
/** While the database is away; a lease outlives it. */
const BACK_OFF_MS = 2_000;

/** What becomes of a task that this process holds. */
export interface LeaseEvents {
  /** Another process has it by now. */
  onLost(): void;
  onCancelWanted(): void;
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
  private readonly logger: Logger;
  private readonly leases = new Map<number, Lease>();
  private readonly stopped = new AbortController();
  private loops: Promise<unknown> = Promise.resolve();

  constructor({ database, logger }: { database: Database; logger: Logger }) {
    this.database = database;
    this.logger = logger;
  }

  start(): void {
    const renewing = this.repeat(RENEW_MS, () => this.renew([...this.leases.values()]));
    // In an embedded store no other process uses the tasks.
    const looking = this.database.isShared && this.repeat(LOOK_MS, () => this.look());
    this.loops = Promise.all([renewing, looking]);
  }

  async close(): Promise<void> {
    this.stopped.abort();
    await this.loops;
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

  private async look(): Promise<void> {
    if (this.leases.size === 0) return;
    const leases = new Map(this.leases);
    const claims = await findClaims(
      this.database,
      [...leases.values()].map(({ task }) => task),
    );
    for (const { number, owner, wish } of claims) {
      const lease = leases.get(number);
      if (lease === undefined) continue;
      if (owner !== this.owner) this.lose(lease);
      else if (wish === 'wanted') lease.onCancelWanted();
    }
  }

  /** Unless it was given up meanwhile. */
  private lose(lease: Lease): void {
    if (this.leases.get(lease.task.number) === lease) lease.onLost();
  }

  private async repeat(everyMs: number, work: () => Promise<void>): Promise<void> {
    for (;;) {
      await pause(everyMs, this.stopped.signal);
      if (this.stopped.signal.aborted) return;
      try {
        await work();
      } catch (error) {
        // A lease outlives several renewals; the loop must outlive any of its rounds.
        const log = isTransient(error) ? this.logger.warn : this.logger.error;
        log.call(this.logger, { err: error }, 'leases could not be renewed or read, it is tried again');
        await pause(BACK_OFF_MS, this.stopped.signal);
      }
    }
  }
}
