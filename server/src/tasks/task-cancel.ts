import type { Clock } from '../kernel/clock.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Database } from '../storage/storage.ts';
import { hasEnded, type Task } from './task.ts';
import { endUnclaimed, findClaims, saveCancelWish } from './task-lease-store.ts';
import { type ActiveRun, pause } from './task-runner.ts';
import { findTask, listParts } from './task-store.ts';
import type { TaskWatch } from './task-watch.ts';
import type { TaskWork } from './task-work.ts';

/** A cancelled run stops at its next check; after this time the caller is answered anyway. */
const CANCEL_MS = 10_000;
/** How soon the answer of another process is seen. */
const LOOK_MS = 200;

export interface CancelParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly watch: TaskWatch;
  readonly work: TaskWork;
}

/**
 * Ends a task before it takes effect: at once while nobody runs it, else by the process that does.
 * @throws task_uploading, task_ended, task_taking_effect
 */
export async function cancelTask(parts: CancelParts, task: Task): Promise<Task> {
  if (hasEnded(task)) throw new ServiceError('task_ended');
  if (parts.work.isCarried(task)) throw new ServiceError('task_uploading');
  const writes = await listParts(parts.database.read, task);
  if (writes.length > 0) return cancelWhole(parts, task, writes);
  const cancelled = await cancelUnlessElsewhere(parts, task);
  if (cancelled !== undefined) return cancelled;
  if (!(await saveCancelWish(parts.database, task, { wish: 'wanted' }))) throw new ServiceError('task_ended');
  const timeUp = AbortSignal.timeout(CANCEL_MS);
  while (!timeUp.aborted) {
    await pause(LOOK_MS, timeUp);
    // The process that ran it may have died.
    const ended = (await readAnswer(parts, task)) ?? (await cancelUnlessElsewhere(parts, task));
    if (ended !== undefined) return ended;
  }
  throw new ServiceError('task_taking_effect');
}

/** What a task writes is cancelled whole or not at all; its end follows from theirs. @throws task_taking_effect */
async function cancelWhole(parts: CancelParts, task: Task, writes: readonly Task[]): Promise<Task> {
  const { database, watch } = parts;
  const [only, ...others] = writes;
  if (only !== undefined && others.length === 0) await cancelTask(parts, only);
  else await endAllFree(parts, writes);
  return watch.waitUntilEnded(() => findTask(database, task.id), task, CANCEL_MS);
}

async function endAllFree({ database, clock, work }: CancelParts, writes: readonly Task[]): Promise<void> {
  const finishedAt = clock.now();
  await work.claims.settle();
  const ended = await database.write(
    async (tx) => {
      const done: Task[] = [];
      for (const task of writes) {
        const one = await endUnclaimed(database, tx, { task, status: 'CANCELLED', finishedAt });
        if (one === undefined) throw new ServiceError('task_taking_effect');
        done.push(one);
      }
      return done;
    },
    { of: 'rows' },
  );
  for (const task of ended) await work.afterEnd(task);
  for (const task of ended.slice(0, 1)) work.claims.wake(task);
}

/** @returns undefined when another process runs the task, or it has ended. @throws task_taking_effect */
async function cancelUnlessElsewhere(parts: CancelParts, task: Task): Promise<Task | undefined> {
  // A task that is just being claimed here becomes a known run after that.
  await parts.work.claims.settle();
  const run = parts.work.findRun(task);
  return run === undefined ? endFree(parts, task) : cancelHere(parts, run);
}

async function endFree({ database, clock, work }: CancelParts, task: Task): Promise<Task | undefined> {
  const end = { task, status: 'CANCELLED', finishedAt: clock.now() } as const;
  const ended = await database.write((tx) => endUnclaimed(database, tx, end), { of: 'rows' });
  if (ended === undefined) return undefined;
  await work.afterEnd(ended);
  // It may have been the first of its lane, which is now free.
  work.claims.wake(ended);
  return ended;
}

async function cancelHere({ database, watch }: CancelParts, run: ActiveRun): Promise<Task> {
  if (!run.cancel()) throw new ServiceError('task_taking_effect');
  const { task } = run;
  const ended = await watch.waitUntilEnded(() => findTask(database, task.id), task, CANCEL_MS);
  // It took effect between the question and the answer.
  if (ended.status !== 'CANCELLED') throw new ServiceError('task_taking_effect');
  return ended;
}

/** @returns undefined while there is no answer. @throws task_taking_effect */
async function readAnswer({ database }: CancelParts, task: Task): Promise<Task | undefined> {
  const [claim] = await findClaims(database, [task]);
  const present = await findTask(database, task.id);
  if (present?.status === 'CANCELLED') return present;
  const isOpen = present !== undefined && !hasEnded(present);
  if (!isOpen || claim?.wish === 'refused') throw new ServiceError('task_taking_effect');
  return undefined;
}
