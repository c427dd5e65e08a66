/**
 * The door of tasks. Slow work is a task: a stored payload, and code that runs it and is safe to run twice. The ordered
 * tasks of one project take effect one after another in the order of their acceptance. Tasks of different projects do
 * not wait for each other. A process that runs a task has claimed it in the database and holds a lease on it. An
 * expired lease means that its process is gone, so another process runs the task. The embedded store has only one
 * process, so all open tasks are free when it starts. This room does not interpret payloads. It runs timers that renew
 * leases and, on a shared database, notice changes by other processes.
 */

import type { ServiceError } from '../kernel/errors.ts';
import type { ControlSchema, ControlTransaction, Database } from '../storage/storage.ts';
import { createPartTasks } from './part-tasks.ts';
import { describeTask, type LogLine, type NewTaskRequest, type Task, type TaskDefinition } from './task.ts';
import { cancelTask } from './task-cancel.ts';
import { countUnclaimed, findOldest, leaseUntil } from './task-lease-store.ts';
import { readReport } from './task-report.ts';
import { describeRefused, type TaskParts } from './task-runner.ts';
import {
  dropTasksBefore,
  endTask,
  findStates,
  findTask,
  hasOpenOrdered,
  insertTask,
  listLogLines,
  listNumberedTasks,
  listOpenTasks,
  listTasks,
} from './task-store.ts';
import { TaskWatch } from './task-watch.ts';
import { TaskWork } from './task-work.ts';

export type { PartRequest } from './part-tasks.ts';
export { createDueWatch, logTrouble, Moved, Poll } from './poll.ts';
export {
  type NewTaskRequest,
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
  const watch = new TaskWatch(database.isShared ? (tasks) => findStates(database, tasks) : undefined);
  const work = new TaskWork(parts, watch);
  const tables: (keyof ControlSchema)[] = ['task_log', 'task_report'];

  return {
    watch,
    ...createTaskReads(database),
    define(added: readonly TaskDefinition<object>[]): void {
      work.kinds.define(added);
      work.wake();
    },
    listKinds: () => work.kinds.list(),
    accept: <Payload extends object>(
      definition: TaskDefinition<Payload>,
      request: NewTaskRequest<Payload>,
    ): Promise<Task> => acceptTask(work, definition, request),
    acceptWith: <Payload extends object, Stored>(
      definition: TaskDefinition<Payload>,
      request: Omit<NewTaskRequest<Payload>, 'alongside'>,
      store: (tx: ControlTransaction, task: Task) => Promise<Stored>,
    ): Promise<Stored> => acceptTaskWith(work, { definition, request }, store),
    parts: createPartTasks(work),
    /** Lets a held task run. @returns false when another process has begun it */
    release: (task: Task) => work.held.release(task),
    /** Deletes a held task because its change was refused. */
    withdraw: (task: Task) => work.held.withdraw(task),
    /** Starts running open tasks. Called once, after all kinds are defined. */
    start: () => work.start(),
    async close(): Promise<void> {
      watch.close();
      await work.close();
    },

    /** @returns a refusal in the form that a failed task shows */
    describeFailure: (error: ServiceError) => describeRefused(parts, error),
    /** @throws task_uploading, task_ended, task_taking_effect */
    cancel: (task: Task) => cancelTask(work, task),
    /** Ends tasks that other tasks carry. */
    endTasks: (tasks: readonly Task[], status: 'FINISHED' | 'CANCELLED'): Promise<readonly Task[]> => {
      const end = { status, finishedAt: clock.now() };
      return work.ends.end(async (tx) => {
        const ended = await Array.fromAsync(tasks, (task) => endTask(tx, task, end));
        return ended.filter((task) => task !== undefined);
      });
    },
    /** @returns the task once it has ended, or its present state when the time is up */
    waitUntilEnded: (task: Task, waitMs: number) => work.waitUntilEnded(task, AbortSignal.timeout(waitMs)),
    /** Counts the tasks of all processes that wait for their turn. */
    countWaiting: () => countUnclaimed(database, work.kinds.listRunnable()),
    /** Finds the oldest open task of each kind that runs by itself. */
    findOldest: () => findOldest(database, work.kinds.listRunnable()),
    /** Registers a table whose rows, by `project_id` and `task_number`, are removed together with their task. */
    removeWithTask: (name: keyof ControlSchema) => void tables.push(name),
    dropEndedBefore: (before: number) => dropTasksBefore(database, before, tables),
  };
}

const createTaskReads = (database: Database) => ({
  find: (id: string) => findTask(database, id),
  /** @returns undefined also for a deleted task */
  findByNumber: async (projectId: number, number: number): Promise<Task | undefined> =>
    (await listNumberedTasks(database, projectId, [number]))[0],
  list: (filter: Parameters<typeof listTasks>[1]) => listTasks(database, filter),
  /** Finds tasks by their numbers. Omits deleted tasks and returns the others in any order. */
  listNumbered: (projectId: number, numbers: readonly number[]) =>
    listNumberedTasks(database, projectId, numbers),
  listOpen: (projectId?: number) => listOpenTasks(database, projectId),
  hasOpenOrdered: (projectId: number) => hasOpenOrdered(database, projectId),
  readLog: (task: Task): Promise<LogLine[]> => listLogLines(database, task),
  readReport: (task: Task) => readReport(database, task),
});

/** Stores a task. Once it is durable, it can run in this or another process. */
const acceptTask = <Payload extends object>(
  work: TaskWork,
  definition: TaskDefinition<Payload>,
  { alongside, ...request }: NewTaskRequest<Payload>,
): Promise<Task> =>
  acceptTaskWith(work, { definition, request }, async (tx, task) => {
    await alongside?.(tx, task);
    return task;
  });

/**
 * Stores a task together with the rows that `store` writes in its transaction.
 * @returns what `store` returned
 */
async function acceptTaskWith<Payload extends object, Stored>(
  work: TaskWork,
  {
    definition,
    request,
  }: { definition: TaskDefinition<Payload>; request: Omit<NewTaskRequest<Payload>, 'alongside'> },
  store: (tx: ControlTransaction, task: Task) => Promise<Stored>,
): Promise<Stored> {
  const { database, clock, refuseProject } = work.parts;
  refuseProject?.(request.project.id);
  const { project, isHeld = false } = request;
  const lease = isHeld && { leasedBy: work.owner, leaseUntil: leaseUntil(database) };
  const accepted = await database.write(project.id, async (tx) => {
    const described = describeTask(definition, request, clock.now());
    const task = await insertTask(tx, described, lease || undefined);
    return { task, stored: await store(tx, task) };
  });
  if (isHeld) work.held.hold(accepted.task);
  else work.accepted(accepted.task);
  return accepted.stored;
}
