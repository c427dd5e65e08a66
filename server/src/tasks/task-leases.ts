import { randomBytes } from 'node:crypto';
import type { Logger } from '../kernel/logger.ts';
import type { Database } from '../storage/storage.ts';
import { Poll } from './poll.ts';
import type { Task } from './task.ts';
import { findClaims, LEASE_MS, renewLeases } from './task-lease-store.ts';

const RENEW_MS = 3_000;
/** How soon a process notices tasks that others accepted or finished, and runs that must end or were taken over. */
export const POLL_MS = 500;

interface LeaseEvents {
  /** Called when another process holds the task. */
  onLost(): void;
  onCancelRequested(): void;
}

interface Lease extends LeaseEvents {
  readonly task: Task;
  /** When the lease was last renewed, by the clock of this process. */
  renewedAt: number;
}

interface LeaseParts {
  readonly database: Database;
  readonly logger: Logger;
}

/** The tasks that this process holds, whether they run or are kept from running, and the renewal of their leases. */
export class TaskLeases {
  readonly owner = randomBytes(8).toString('hex');
  private readonly database: Database;
  private readonly leases = new Map<number, Lease>();
  private readonly polls: readonly Poll[];

  constructor({ database, logger }: LeaseParts) {
    this.database = database;
    const parts = { logger, subject: 'leases of tasks' };
    const renewal = new Poll({
      ...parts,
      restMs: RENEW_MS,
      round: () => this.renew([...this.leases.values()]),
    });
    const check = new Poll({ ...parts, restMs: POLL_MS, round: () => this.check() });
    // No other process uses the tasks in an embedded store.
    this.polls = database.isShared ? [renewal, check] : [renewal];
  }

  start(): void {
    for (const poll of this.polls) poll.start();
  }

  async close(): Promise<void> {
    await Promise.all(this.polls.map((poll) => poll.close()));
  }

  /**
   * Renews a task's lease from now on.
   * @param since when it was leased, or earlier
   */
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
   * Confirms a lease before a task takes effect, because a suspended process may have lost it without noticing. A task
   * whose lease is lost is handed back.
   * @throws not_ready, storage_full
   */
  async confirm({ number }: Task): Promise<void> {
    const lease = this.leases.get(number);
    if (lease === undefined || !this.database.isShared) return;
    if (performance.now() - lease.renewedAt > LEASE_MS / 2) await this.renew([lease]);
  }

  private async renew(held: readonly Lease[]): Promise<void> {
    if (held.length === 0) return;
    const begunAt = performance.now();
    const tasks = held.map(({ task }) => task);
    const renewed = await renewLeases(this.database, this.owner, tasks);
    for (const lease of held) {
      if (renewed.has(lease.task.number)) lease.renewedAt = begunAt;
      else this.lose(lease);
    }
  }

  private async check(): Promise<void> {
    const held = [...this.leases.values()];
    const tasks = held.map(({ task }) => task);
    const claims = await findClaims(this.database, tasks);
    const byNumber = new Map(claims.map((claim) => [claim.number, claim]));
    for (const lease of held) {
      const claim = byNumber.get(lease.task.number);
      if (claim !== undefined && claim.owner !== this.owner) this.lose(lease);
      else if (claim?.cancel === 'requested') lease.onCancelRequested();
    }
  }

  /** Reports the loss, unless this process has released the lease. */
  private lose(lease: Lease): void {
    if (this.leases.get(lease.task.number) === lease) lease.onLost();
  }
}
