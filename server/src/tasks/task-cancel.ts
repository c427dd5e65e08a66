import { ServiceError } from '../kernel/errors.ts';
import { pause } from './poll.ts';
import { hasEnded, type Task } from './task.ts';
import { endUnclaimed, findClaims, saveCancelState } from './task-lease-store.ts';
import { findTask, listParts } from './task-store.ts';
import type { TaskWork } from './task-work.ts';

/** How long the caller waits for a cancelled run to stop at its next check. */
const CANCEL_MS = 10_000;
/** How often the answer of another process is checked. */
const ANSWER_POLL_MS = 200;

/**
 * Cancels a task: immediately if no process runs it, otherwise through its process.
 * @throws task_uploading, task_ended, task_taking_effect
 */
export async function cancelTask(work: TaskWork, task: Task): Promise<Task> {
  const { database } = work.parts;
  if (hasEnded(task)) throw new ServiceError('task_ended');
  if (work.kinds.isCarried(task)) throw new ServiceError('task_uploading');
  const writes = await listParts(database.read, task);
  if (writes.length > 0) return cancelWhole(work, task, writes);
  const cancelled = await cancelUnlessElsewhere(work, task);
  if (cancelled !== undefined) return cancelled;
  if (!(await saveCancelState(database, task, { cancel: 'requested' }))) throw new ServiceError('task_ended');
  const timeUp = AbortSignal.timeout(CANCEL_MS);
  while (!timeUp.aborted) {
    await pause(ANSWER_POLL_MS, timeUp);
    // Tries again here, because the process that ran the task may have died.
    const ended = (await readAnswer(work, task)) ?? (await cancelUnlessElsewhere(work, task));
    if (ended !== undefined) return ended;
  }
  throw new ServiceError('task_taking_effect');
}

/**
 * Cancels a task with all of its writes or not at all. The end of the task follows from theirs.
 * @throws task_taking_effect
 */
async function cancelWhole(work: TaskWork, task: Task, writes: readonly Task[]): Promise<Task> {
  const [only, ...others] = writes;
  if (only !== undefined && others.length === 0) await cancelTask(work, only);
  else {
    await work.settle();
    if ((await endFree(work, writes)).length === 0) throw new ServiceError('task_taking_effect');
  }
  return work.waitUntilEnded(task, AbortSignal.timeout(CANCEL_MS));
}

/**
 * @returns undefined when another process runs the task, or the task has ended
 * @throws task_taking_effect
 */
async function cancelUnlessElsewhere(work: TaskWork, task: Task): Promise<Task | undefined> {
  // After this, a task that was being claimed here has a run.
  await work.settle();
  const run = work.findRun(task);
  if (run === undefined) return (await endFree(work, [task]))[0];
  if (!run.cancel()) throw new ServiceError('task_taking_effect');
  const ended = await work.waitUntilEnded(task, AbortSignal.timeout(CANCEL_MS));
  // The task took effect between the request and the answer.
  if (ended.status !== 'CANCELLED') throw new ServiceError('task_taking_effect');
  return ended;
}

/**
 * Cancels all tasks of one lane or none.
 * @returns none when they run or have ended
 * @throws task_taking_effect when one of them takes effect
 */
async function endFree(work: TaskWork, tasks: readonly Task[]): Promise<readonly Task[]> {
  const { database, clock } = work.parts;
  const end = { status: 'CANCELLED', finishedAt: clock.now() } as const;
  const ended = await work.ends.end(async (tx) => {
    const cancelled = await Array.fromAsync(tasks, (task) => endUnclaimed(database, tx, { task, ...end }));
    const ended = cancelled.filter((task) => task !== undefined);
    if (ended.length > 0 && ended.length < tasks.length) throw new ServiceError('task_taking_effect');
    return ended;
  });
  // The lane is free now, because the cancelled task may have been its first.
  for (const task of ended.slice(0, 1)) work.wake(task);
  return ended;
}

/** @returns undefined while there is no answer. @throws task_taking_effect */
async function readAnswer({ parts: { database } }: TaskWork, task: Task): Promise<Task | undefined> {
  const [claim] = await findClaims(database, [task]);
  const present = await findTask(database, task.id);
  if (present?.status === 'CANCELLED') return present;
  const isOpen = present !== undefined && !hasEnded(present);
  if (!isOpen || claim?.cancel === 'refused') throw new ServiceError('task_taking_effect');
  return undefined;
}
