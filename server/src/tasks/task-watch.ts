import { BACK_OFF_MS, pause } from './poll.ts';
import { hasEnded, type Task } from './task.ts';
import type { TaskState } from './task-store.ts';

/** How soon a waiting caller sees changes by other processes. */
const POLL_MS = 200;

/** A caller that waits for a task to change from the state that the caller has seen. */
type Waiter = { readonly task: Task; readonly end: (isChanged: boolean) => void };

type FindStates = (tasks: readonly Task[]) => Promise<ReadonlyMap<string, TaskState>>;

/** Notifies waiting callers without a query for each. On a shared database it polls with `findStates`. */
export class TaskWatch {
  private readonly findStates: FindStates | undefined;
  private readonly waiters = new Map<string, Set<Waiter>>();
  private readonly closed = new AbortController();
  private isPolling = false;

  constructor(findStates?: FindStates) {
    this.findStates = findStates;
  }

  /** Call this after each change that this process made. */
  changed(taskId: string): void {
    for (const { end } of this.waiters.get(taskId) ?? []) end(true);
  }

  /** Ends all waits. Later ones end immediately. */
  close(): void {
    this.closed.abort();
  }

  isClosed(): boolean {
    return this.closed.signal.aborted;
  }

  /** Yields the task immediately and after each change, until it has ended or the signal aborts. */
  async *follow(find: () => Promise<Task | undefined>, signal: AbortSignal): AsyncGenerator<Task> {
    let task = await find();
    while (task !== undefined) {
      yield task;
      if (hasEnded(task)) return;
      const change = this.nextChange(task, signal);
      const present: Task | undefined = await find();
      if (present !== undefined && isSameState(present, task) && !(await change)) return;
      task = await find();
    }
  }

  /** @returns false when the signal aborts first */
  private nextChange(task: Task, signal: AbortSignal): Promise<boolean> {
    const { closed, findStates, waiters } = this;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter = { task, end: resolve };
    const ofTask = waiters.getOrInsertComputed(task.id, () => new Set());
    ofTask.add(waiter);
    const giveUp = () => resolve(false);
    const either = AbortSignal.any([signal, closed.signal]);
    either.addEventListener('abort', giveUp, { once: true });
    if (either.aborted) giveUp();
    if (findStates !== undefined) void this.pollWhileCallersWait(findStates);
    return promise.finally(() => {
      either.removeEventListener('abort', giveUp);
      ofTask.delete(waiter);
      if (ofTask.size === 0 && waiters.get(task.id) === ofTask) waiters.delete(task.id);
    });
  }

  private async pollWhileCallersWait(findStates: FindStates): Promise<void> {
    if (this.isPolling) return;
    this.isPolling = true;
    for (let waitMs = POLL_MS; this.waiters.size > 0 && !this.closed.signal.aborted; ) {
      await pause(waitMs, this.closed.signal);
      // Callers wait until their time is up, even if the database does not answer.
      waitMs = await this.poll(findStates).then(
        () => POLL_MS,
        () => BACK_OFF_MS,
      );
    }
    this.isPolling = false;
  }

  private async poll(findStates: FindStates): Promise<void> {
    const waiting = [...this.waiters.values()].flatMap((ofTask) => [...ofTask]);
    if (waiting.length === 0) return;
    const once = new Map(waiting.map(({ task }) => [task.id, task]));
    const states = await findStates([...once.values()]);
    for (const { task, end } of waiting) {
      const state = states.get(task.id);
      if (state === undefined || !isSameState(state, task)) end(true);
    }
  }
}

const isSameState = (a: TaskState, b: TaskState) =>
  a.status === b.status && a.progress === b.progress && a.logCounter === b.logCounter;
