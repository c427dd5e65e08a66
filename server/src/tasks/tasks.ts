/**
 * The door of tasks: everything slow is a task, a stored payload plus the code that runs it, safe to run twice.
 * The ordered tasks of one project take effect one after another in the order of their acceptance; those of
 * different projects do not wait for each other. A process that runs a task has claimed it in the database and
 * holds a lease on it; an expired lease means that its process is gone, and another process runs the task. An
 * embedded store has one process, so all open tasks are free when it starts. Tasks never know what a product is.
 * They wake by themselves: to renew leases, and, on a shared database, to see what other processes did.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { ServiceError } from '../kernel/errors.ts';
import type { ControlSchema, ControlTransaction, Database } from '../storage/storage.ts';
import { pause } from './poll.ts';
import {
  describeTask,
  hasEnded,
  type LogLine,
  type NewTaskRequest,
  type Task,
  type TaskDefinition,
  type TaskRun,
} from './task.ts';
import {
  countUnclaimed,
  endUnclaimed,
  findClaims,
  findOldest,
  leaseUntil,
  saveCancelState,
} from './task-lease-store.ts';
import { describeRefused, PartCancelled, PartFailed, type TaskParts } from './task-runner.ts';
import {
  dropTasksBefore,
  endTask,
  findReportPart,
  findStates,
  findTask,
  hasOpenOrdered,
  insertTask,
  listLogLines,
  listNumberedTasks,
  listOpenTasks,
  listParts,
  listTasks,
} from './task-store.ts';
import { createTaskWatch } from './task-watch.ts';
import { createTaskWork, type TaskWork } from './task-work.ts';

export { createDueWatch, logTrouble, Moved, Poll } from './poll.ts';
export {
  REPORT_LINES,
  type ReportLine,
  type Task,
  type TaskDefinition,
  type TaskRun,
  toWireTask,
  type WireTask,
} from './task.ts';
export { isFree, leaseUntil, releaseLeases } from './task-lease-store.ts';
export { type TaskFailure, WireTaskSchema } from './task-schemas.ts';

export type Tasks = ReturnType<typeof createTasks>;

export function createTasks(parts: TaskParts) {
  const { database, clock } = parts;
  const watch = createTaskWatch(database.isShared ? (tasks) => findStates(database, tasks) : undefined);
  const work = createTaskWork(parts, watch);
  const tables: (keyof ControlSchema)[] = ['task_log', 'task_report'];

  return {
    watch,
    define: work.define,
    listKinds: work.listDefined,

    /** Stores a task and, once it is durable, lets it run in this or another process. */
    async accept<Payload extends object>(
      definition: TaskDefinition<Payload>,
      request: NewTaskRequest<Payload>,
    ): Promise<Task> {
      parts.refuseProject?.(request.project.id);
      const { project, isHeld = false, alongside } = request;
      const lease = isHeld && { leasedBy: work.owner, leaseUntil: leaseUntil(database) };
      const task = await database.write(project.id, async (tx) => {
        const described = describeTask(definition, request, clock.now());
        const accepted = await insertTask(tx, described, lease || undefined);
        await alongside?.(tx, accepted);
        return accepted;
      });
      if (isHeld) work.hold(task);
      else work.accepted(task);
      return task;
    },
    parts: createTaskParts(work),
    release: work.release,
    withdraw: work.withdraw,
    /** Starts running open tasks; called once, when all kinds are defined. */
    start: work.start,
    async close(): Promise<void> {
      watch.close();
      await work.close();
    },

    /** @returns a refusal in the form that a failed task shows */
    describeFailure: (error: ServiceError) => describeRefused(parts, error),
    find: (id: string) => findTask(database, id),
    /** @returns undefined for a deleted task, too */
    findByNumber: async (projectId: number, number: number): Promise<Task | undefined> =>
      (await listNumberedTasks(database, projectId, [number]))[0],
    list: (filter: Parameters<typeof listTasks>[1]) => listTasks(database, filter),
    /** By their numbers, in no order; deleted tasks are left out. */
    listNumbered: (projectId: number, numbers: readonly number[]) =>
      listNumberedTasks(database, projectId, numbers),
    listOpen: (projectId?: number) => listOpenTasks(database, projectId),
    /** At once while no process runs it, else by its process. @throws task_uploading, task_ended, task_taking_effect */
    cancel: (task: Task) => cancelTask(work, task),
    /** Ends tasks that others carry. */
    endTasks: (tasks: readonly Task[], status: 'FINISHED' | 'CANCELLED'): Promise<readonly Task[]> => {
      const end = { status, finishedAt: clock.now() };
      return work.end(async (tx) => {
        const ended = await Array.fromAsync(tasks, (task) => endTask(tx, task, end));
        return ended.filter((task) => task !== undefined);
      });
    },
    readLog: (task: Task): Promise<LogLine[]> => listLogLines(database, task),
    readReport: (task: Task) => readReport(database, task),
    /** @returns the task once it has ended, or as it is when the time is up */
    waitUntilEnded: (task: Task, waitMs: number) => work.waitUntilEnded(task, AbortSignal.timeout(waitMs)),
    hasOpenOrdered: (projectId: number) => hasOpenOrdered(database, projectId),
    /** Tasks that wait for their turn, over all processes. */
    countWaiting: () => countUnclaimed(database, work.listKinds()),
    /** By kind, for the kinds that run by themselves. */
    findOldest: () => findOldest(database, work.listKinds()),
    /** Rows of these tables are removed with their task, which they name in `project_id` and `task_number`. */
    removeWithTask: (name: keyof ControlSchema) => void tables.push(name),
    dropEndedBefore: (before: number) => dropTasksBefore(database, before, tables),
  };
}

export interface PartRequest {
  readonly definition: TaskDefinition<never>;
  readonly payload: object;
  readonly alongside?: NewTaskRequest<object>['alongside'];
}

/** Interval between two checks of a part; changes by this process are reported at once. */
const PART_CHECK_MS = 60_000;

/**
 * The writes of a task that takes long to prepare and takes its place among the ordered tasks of its project
 * only when it begins to write: they are tasks of their own, accepted together and not listed.
 */
function createTaskParts(work: TaskWork) {
  const { database, clock } = work.parts;
  return {
    /** @returns parts accepted before, even by a process that has died since */
    list: (task: Task): Promise<Task[]> => listParts(database.read, task),

    /** All or none, once per task; `note` is written with them. @returns the parts, or those that were accepted before */
    async accept(
      task: Task,
      requests: readonly PartRequest[],
      note: (tx: ControlTransaction) => Promise<void>,
    ): Promise<readonly Task[]> {
      const project = { id: task.projectId, name: task.projectName };
      const parts = await database.write(task.projectId, async (tx) => {
        const known = await listParts(tx, task);
        if (known.length > 0) return known;
        const accepted = await Array.fromAsync(requests, async ({ definition, payload, alongside }) => {
          const request = { project, payload, origin: task.origin, parent: task };
          const part = await insertTask(tx, describeTask(definition, request, clock.now()));
          await alongside?.(tx, part);
          return part;
        });
        await note(tx);
        return accepted;
      });
      for (const part of parts) work.accepted(part);
      return parts;
    },

    /** @returns the ended parts @throws PartFailed, PartCancelled; AbortError when the run must stop */
    waitFor: (run: TaskRun, parts: readonly Task[]): Promise<Task[]> =>
      Array.fromAsync(parts, async (part, at) => {
        const done = await waitForPart(work, part, run.signal);
        if (done.status === 'CANCELLED') throw new PartCancelled();
        if (done.failure !== undefined) throw new PartFailed(done.failure);
        await run.progress(60 + (40 * (at + 1)) / parts.length);
        return done;
      }),

    /** Passes on what a part logged and reported. */
    async tell(run: TaskRun, part: Task, passOn: (lines: string) => Promise<void>): Promise<void> {
      for (const { line } of await listLogLines(database, part)) await run.log(line);
      for await (const lines of readReport(database, part)) await passOn(lines);
    },
  };
}

async function* readReport(database: Database, task: Task): AsyncGenerator<string> {
  for (let part = 0; ; part += 1) {
    const lines = await findReportPart(database, task, part);
    if (lines === undefined) return;
    yield lines;
    // Reads of the embedded store never wait, nor does a fast receiver: the whole report would block the event loop.
    await nextTurn();
  }
}

async function waitForPart(work: TaskWork, part: Task, signal: AbortSignal): Promise<Task> {
  for (;;) {
    signal.throwIfAborted();
    // A stopping process hands the run back soon; a busy loop until then would prevent that.
    if (work.watch.isClosed()) await pause(PART_CHECK_MS, signal);
    else {
      const timeUp = AbortSignal.timeout(PART_CHECK_MS);
      const latest = await work.waitUntilEnded(part, AbortSignal.any([signal, timeUp]));
      if (hasEnded(latest)) return latest;
    }
  }
}

/** A cancelled run stops at its next check; after this time the caller gets an answer anyway. */
const CANCEL_MS = 10_000;
/** How soon another process's answer is seen. */
const ANSWER_POLL_MS = 200;

async function cancelTask(work: TaskWork, task: Task): Promise<Task> {
  const { database } = work.parts;
  if (hasEnded(task)) throw new ServiceError('task_ended');
  if (work.isCarried(task)) throw new ServiceError('task_uploading');
  const writes = await listParts(database.read, task);
  if (writes.length > 0) return cancelWhole(work, task, writes);
  const cancelled = await cancelUnlessElsewhere(work, task);
  if (cancelled !== undefined) return cancelled;
  if (!(await saveCancelState(database, task, { cancel: 'requested' }))) throw new ServiceError('task_ended');
  const timeUp = AbortSignal.timeout(CANCEL_MS);
  while (!timeUp.aborted) {
    await pause(ANSWER_POLL_MS, timeUp);
    // The process that ran the task may have died.
    const ended = (await readAnswer(work, task)) ?? (await cancelUnlessElsewhere(work, task));
    if (ended !== undefined) return ended;
  }
  throw new ServiceError('task_taking_effect');
}

/** Cancels a task with all of its writes or not at all; its end follows from theirs. @throws task_taking_effect */
async function cancelWhole(work: TaskWork, task: Task, writes: readonly Task[]): Promise<Task> {
  const [only, ...others] = writes;
  if (only !== undefined && others.length === 0) await cancelTask(work, only);
  else {
    await work.settle();
    if ((await endFree(work, writes)).length === 0) throw new ServiceError('task_taking_effect');
  }
  return work.waitUntilEnded(task, AbortSignal.timeout(CANCEL_MS));
}

/** @returns undefined when another process runs the task, or it has ended. @throws task_taking_effect */
async function cancelUnlessElsewhere(work: TaskWork, task: Task): Promise<Task | undefined> {
  // A task that is just being claimed here is a known run after that.
  await work.settle();
  const run = work.findRun(task);
  if (run === undefined) return (await endFree(work, [task]))[0];
  if (!run.cancel()) throw new ServiceError('task_taking_effect');
  const ended = await work.waitUntilEnded(task, AbortSignal.timeout(CANCEL_MS));
  // It took effect between the request and the answer.
  if (ended.status !== 'CANCELLED') throw new ServiceError('task_taking_effect');
  return ended;
}

/** Cancels tasks of one lane, all or none. @returns none when they run or have ended. @throws task_taking_effect when one does */
async function endFree(work: TaskWork, tasks: readonly Task[]): Promise<readonly Task[]> {
  const { database, clock } = work.parts;
  const end = { status: 'CANCELLED', finishedAt: clock.now() } as const;
  const ended = await work.end(async (tx) => {
    const found = await Array.fromAsync(tasks, (task) => endUnclaimed(database, tx, { task, ...end }));
    const done = found.filter((task) => task !== undefined);
    if (done.length > 0 && done.length < tasks.length) throw new ServiceError('task_taking_effect');
    return done;
  });
  // The cancelled task may have been the first of its lane, which is now free.
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
