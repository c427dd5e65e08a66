import { hasEnded, type Task } from './task.ts';
import { pause } from './task-runner.ts';
import type { TaskState } from './task-store.ts';

/** How soon those who wait hear what another process did. */
const LOOK_MS = 200;
/** While the database is away. */
const BACK_OFF_MS = 2_000;

/** Tells those who wait that a task changed, without each of them asking the store again and again. */
export interface TaskWatch {
  /** To be called of changes that this process made. */
  changed(taskId: string): void;
  /** @returns the task once it ended, or as it is when the time is over. */
  waitUntilEnded(find: () => Promise<Task | undefined>, task: Task, waitMs: number): Promise<Task>;
  /** Yields the task at once and after each change, until it ended or the signal aborts. */
  follow(find: () => Promise<Task | undefined>, signal: AbortSignal): AsyncGenerator<Task>;
  /** Lets everybody go who waits, at once from now on. */
  close(): void;
  isClosed(): boolean;
}

/** Reads the states of tasks by their ids, all in one. */
type FindStates = (tasks: readonly Task[]) => Promise<ReadonlyMap<string, TaskState>>;

/** Somebody who waits for a change of a task that he knows. */
interface Waiter {
  readonly task: Task;
  readonly tell: (isChanged: boolean) => void;
}

/** `findStates`: if other processes change tasks too, they are polled while a caller waits. */
export function createTaskWatch(findStates?: FindStates): TaskWatch {
  const waiters = new Map<string, Set<Waiter>>();
  const closed = new AbortController();
  let isLooking = false;

  const listWaiters = () => [...waiters.values()].flatMap((ofTask) => [...ofTask]);

  async function lookWhileSomebodyWaits(find: FindStates): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    for (let waitMs = LOOK_MS; waiters.size > 0 && !closed.signal.aborted; ) {
      await pause(waitMs, closed.signal);
      // Those who wait do so until their time is over, whether or not the database can be asked.
      waitMs = await lookOnce(find).then(
        () => LOOK_MS,
        () => BACK_OFF_MS,
      );
    }
    isLooking = false;
  }

  async function lookOnce(find: FindStates): Promise<void> {
    const asking = listWaiters();
    if (asking.length === 0) return;
    const once = new Map(asking.map(({ task }) => [task.id, task]));
    const states = await find([...once.values()]);
    for (const { task, tell } of asking) {
      const state = states.get(task.id);
      if (state === undefined || !isSameState(state, task)) tell(true);
    }
  }

  /** @returns false when the signal aborts before */
  function nextChange(task: Task, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter = { task, tell: resolve };
    const ofTask = waiters.get(task.id) ?? new Set();
    waiters.set(task.id, ofTask.add(waiter));
    const giveUp = () => resolve(false);
    const either = AbortSignal.any([signal, closed.signal]);
    either.addEventListener('abort', giveUp, { once: true });
    if (either.aborted) giveUp();
    if (findStates !== undefined) void lookWhileSomebodyWaits(findStates);
    return promise.finally(() => {
      either.removeEventListener('abort', giveUp);
      ofTask.delete(waiter);
      if (ofTask.size === 0 && waiters.get(task.id) === ofTask) waiters.delete(task.id);
    });
  }

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
    changed(taskId) {
      for (const { tell } of waiters.get(taskId) ?? []) tell(true);
    },
    close: () => closed.abort(),
    isClosed: () => closed.signal.aborted,
    follow,
    async waitUntilEnded(find, task, waitMs) {
      let latest = task;
      for await (const present of follow(find, AbortSignal.timeout(waitMs))) latest = present;
      return latest;
    },
  };
}

const isSameState = (a: TaskState, b: TaskState) =>
  a.status === b.status && a.progress === b.progress && a.logCounter === b.logCounter;
