import { EventEmitter, once } from 'node:events';
import { hasEnded, type Task } from './task.ts';

/** Tells those who wait that a task changed, without asking the store again and again. */
export interface TaskWatch {
  changed(taskId: string): void;
  /** @returns the task once it ended, or as it is when the time is over. */
  waitUntilEnded(find: () => Promise<Task | undefined>, task: Task, waitMs: number): Promise<Task>;
  /** Yields the task at once and after each change, until it ended or the signal aborts. */
  follow(find: () => Promise<Task | undefined>, signal: AbortSignal): AsyncGenerator<Task>;
  /** Lets everybody go who waits. */
  close(): void;
}

export function createTaskWatch(): TaskWatch {
  const emitter = new EventEmitter().setMaxListeners(0);
  const closed = new AbortController();

  async function nextChange(taskId: string, signal: AbortSignal): Promise<boolean> {
    try {
      await once(emitter, taskId, { signal: AbortSignal.any([signal, closed.signal]) });
      return true;
    } catch {
      // Aborted: the time is over, the caller went away, or the process stops.
      return false;
    }
  }

  async function* follow(find: () => Promise<Task | undefined>, signal: AbortSignal): AsyncGenerator<Task> {
    let task = await find();
    while (task !== undefined) {
      yield task;
      if (hasEnded(task)) return;
      const change = nextChange(task.id, signal);
      const present: Task | undefined = await find();
      if (present !== undefined && describeState(present) === describeState(task) && !(await change)) return;
      task = await find();
    }
  }

  return {
    changed: (taskId) => void emitter.emit(taskId),
    close: () => closed.abort(),
    follow,
    async waitUntilEnded(find, task, waitMs) {
      let latest = task;
      for await (const present of follow(find, AbortSignal.timeout(waitMs))) latest = present;
      return latest;
    },
  };
}

function describeState({ status, progress, logCounter }: Task): string {
  return `${status} ${progress} ${logCounter}`;
}
