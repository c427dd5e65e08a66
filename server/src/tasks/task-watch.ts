import { BACK_OFF_MS, pause } from './poll.ts';
import { hasEnded, type Task } from './task.ts';
import type { TaskState } from './task-store.ts';

/** How soon a waiting caller sees what another process did. */
const POLL_MS = 200;

/** A caller that waits for a task to change from the state that it has seen. */
type Waiter = { readonly task: Task; readonly end: (isChanged: boolean) => void };

export type TaskWatch = ReturnType<typeof createTaskWatch>;

/** Notifies waiting callers without a query for each; where other processes change tasks too, polls with `findStates`. */
export function createTaskWatch(
  findStates?: (tasks: readonly Task[]) => Promise<ReadonlyMap<string, TaskState>>,
) {
  const waiters = new Map<string, Set<Waiter>>();
  const closed = new AbortController();
  let isPolling = false;

  async function pollWhileCallersWait(): Promise<void> {
    if (isPolling) return;
    isPolling = true;
    for (let waitMs = POLL_MS; waiters.size > 0 && !closed.signal.aborted; ) {
      await pause(waitMs, closed.signal);
      // Callers wait until their time is up, whether or not the database answers.
      waitMs = await poll().then(
        () => POLL_MS,
        () => BACK_OFF_MS,
      );
    }
    isPolling = false;
  }

  async function poll(): Promise<void> {
    const waiting = [...waiters.values()].flatMap((ofTask) => [...ofTask]);
    if (waiting.length === 0) return;
    const once = new Map(waiting.map(({ task }) => [task.id, task]));
    const states = await findStates?.([...once.values()]);
    for (const { task, end } of waiting) {
      const state = states?.get(task.id);
      if (state === undefined || !isSameState(state, task)) end(true);
    }
  }

  /** @returns false when the signal aborts first */
  function nextChange(task: Task, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter = { task, end: resolve };
    const ofTask = waiters.getOrInsertComputed(task.id, () => new Set());
    ofTask.add(waiter);
    const giveUp = () => resolve(false);
    const either = AbortSignal.any([signal, closed.signal]);
    either.addEventListener('abort', giveUp, { once: true });
    if (either.aborted) giveUp();
    if (findStates !== undefined) void pollWhileCallersWait();
    return promise.finally(() => {
      either.removeEventListener('abort', giveUp);
      ofTask.delete(waiter);
      if (ofTask.size === 0 && waiters.get(task.id) === ofTask) waiters.delete(task.id);
    });
  }

  /** Yields the task at once and after each change, until it has ended or the signal aborts. */
  async function* follow(find: () => Promise<Task | undefined>, signal: AbortSignal): AsyncGenerator<Task> {
    let task = await find();
    while (task !== undefined) {
      yield task;
      if (hasEnded(task)) return;
      const change = nextChange(task, signal);
      const present: Task | undefined = await find();
      if (present !== undefined && isSameState(present, task) && !(await change)) return;
      task = await find();
    }
  }

  return {
    /** Call it after each change that this process made. */
    changed(taskId: string): void {
      for (const { end } of waiters.get(taskId) ?? []) end(true);
    },
    /** Ends all waits; later ones end at once. */
    close: () => closed.abort(),
    isClosed: () => closed.signal.aborted,
    follow,
  };
}

const isSameState = (a: TaskState, b: TaskState) =>
  a.status === b.status && a.progress === b.progress && a.logCounter === b.logCounter;
