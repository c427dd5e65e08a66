import type { Logger } from '../kernel/logger.ts';
import type { Database } from '../storage/storage.ts';
import { isTransient, persist } from './poll.ts';
import type { Lane, Task } from './task.ts';
import { releaseLease } from './task-lease-store.ts';
import type { TaskLeases } from './task-leases.ts';
import { findTask, removeHeld } from './task-store.ts';

interface HeldParts {
  readonly database: Database;
  readonly logger: Logger;
  readonly leases: TaskLeases;
  readonly stopped: AbortSignal;
  /** Claims the tasks that can run now in a lane. */
  wake(lane: Lane): void;
}

/** Accepted tasks that this process keeps from running, because the change of each is made next. */
export class HeldTasks {
  private readonly parts: HeldParts;

  constructor(parts: HeldParts) {
    this.parts = parts;
  }

  /** Keeps a task from running until it is released or this process is gone. */
  hold(task: Task): void {
    const { leases } = this.parts;
    leases.add(task, { onLost: () => leases.drop(task), onCancelRequested: () => {} });
  }

  /**
   * Lets a held task run.
   * @returns false when another process has begun it, because this one seemed to be gone
   */
  async release(task: Task): Promise<boolean> {
    const { database, leases, wake } = this.parts;
    leases.drop(task);
    const isReleased = await this.store(task, async () => {
      const isFree = await releaseLease(database, leases.owner, task);
      wake(task);
      return isFree;
    });
    if (isReleased) return true;
    const present = await findTask(database, task.id);
    return present === undefined || present.status === 'CANCELLED';
  }

  /** Deletes a held task because its change was refused. */
  async withdraw(task: Task): Promise<void> {
    const { database, leases } = this.parts;
    await this.store(task, async () => {
      await database.write('rows', (tx) => removeHeld(tx, leases.owner, task));
      leases.drop(task);
      return true;
    });
  }

  /**
   * Releases or removes a held task, and retries if the store is unavailable. Without a retry, the task would be held
   * forever in an embedded store, which does not check leases.
   */
  private async store(task: Task, work: () => Promise<boolean>): Promise<boolean> {
    const { logger, stopped } = this.parts;
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error)) throw error;
      // The caller does not wait for the store. The work is retried until the store accepts it.
      const note = (err: unknown) =>
        logger.warn({ err, task: task.id }, 'releasing or removing a held task failed; retrying in 5 s');
      void persist(work, { note, stopped });
      return true;
    }
  }
}
