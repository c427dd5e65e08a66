/**
 * The door of tasks: everything slow is a task, a stored payload plus the code that runs it, safe to run twice. The
 * ordered tasks of one project take effect one after another in the order of their acceptance; those of different
 * projects do not wait for each other. Whoever runs a task has claimed it in the database and holds a lease on it; a
 * lease that ran out says that its process is gone, and another process runs the task. An embedded store has one
 * process, and whatever is open when it starts is free. Tasks never know what a product is. They wake by themselves: to
 * renew leases, and on a database that others share to see what those did.
 */

import type { ServiceError } from '../kernel/errors.ts';
import { describeTask, type NewTaskRequest } from './new-task.ts';
import type { LogLine, Task } from './task.ts';
import { cancelTask } from './task-cancel.ts';
import type { TaskDefinition } from './task-definition.ts';
import { countUnclaimed, findOldest, heldBy } from './task-lease-store.ts';
import { createTaskParts } from './task-parts.ts';
import { findReportPart } from './task-report-store.ts';
import {
  dropTasksBefore,
  endTask,
  findStates,
  findTask,
  findTaskByNumber,
  hasOpenOrdered,
  insertTask,
  listLogLines,
  listNumberedTasks,
  listOpenTasks,
  listTasks,
} from './task-store.ts';
import { createTaskWatch } from './task-watch.ts';
import { type TaskParts, TaskWork } from './task-work.ts';

export { createDueWatch, type DueWatch, Moved } from './due-watch.ts';
export type { NewTaskRequest } from './new-task.ts';
export {
  type LogLine,
  REPORT_LINES,
  type ReportLine,
  type Task,
  type TaskFailure,
  toWireTask,
  type WireTask,
} from './task.ts';
export type { TaskDefinition, TaskRun } from './task-definition.ts';
export type { PartRequest } from './task-parts.ts';
export { WireTaskSchema } from './task-schemas.ts';

export type Tasks = ReturnType<typeof createTasks>;

export function createTasks(parts: TaskParts) {
  const { database, clock } = parts;
  const watch = createTaskWatch(database.isShared ? (tasks) => findStates(database, tasks) : undefined);
  const work = new TaskWork(parts, watch);

  return {
    watch,
    define: (added: readonly TaskDefinition<never>[]) => work.define(added),
    /** All kinds that are defined. */
    listKinds: () => work.listDefined(),

    /** Stores a task and, once that is durable, lets it run, here or in another process. */
    async accept<Payload extends object>(
      definition: TaskDefinition<Payload>,
      request: NewTaskRequest<Payload>,
    ): Promise<Task> {
      parts.refuseProject?.(request.project.id);
      const { project, isHeld = false, alongside } = request;
      const lease = isHeld ? heldBy(database, work.leases.owner) : undefined;
      const task = await database.write(
        async (tx) => {
          const accepted = await insertTask(tx, describeTask(definition, request, clock.now()), lease);
          await alongside?.(tx, accepted);
          return accepted;
        },
        { of: project.id },
      );
      if (isHeld) work.hold(task);
      else work.accepted(task);
      return task;
    },
    parts: createTaskParts({ database, clock, watch, work }),
    /** Lets a held task run. @returns false when it already began elsewhere, because this process seemed dead */
    release: (task: Task): Promise<boolean> => work.release(task),
    /** Forgets a held task, because the change that it is about was refused. */
    withdraw: (task: Task): Promise<void> => work.withdraw(task),

    /** Begins to run open tasks; called once, when all kinds are defined. */
    start: () => work.start(),
    async close(): Promise<void> {
      watch.close();
      await work.close();
    },

    /** @returns a refusal as a failed task shows it */
    describeFailure: (error: ServiceError) => work.describeFailure(error),
    find: (id: string) => findTask(database, id),
    /** @returns undefined also for one that was forgotten since */
    findByNumber: (projectId: number, number: number) => findTaskByNumber(database, { projectId, number }),
    list: (filter: Parameters<typeof listTasks>[1]) => listTasks(database, filter),
    /** By their numbers, in no order; those that are forgotten are left out. */
    listNumbered: (projectId: number, numbers: readonly number[]) =>
      listNumberedTasks(database, projectId, numbers),
    listOpen: (projectId?: number) => listOpenTasks(database, projectId),
    cancel: (task: Task) => cancelTask({ database, clock, watch, work }, task),
    /** Ends tasks that others carry. */
    async endTasks(tasks: readonly Task[], status: 'FINISHED' | 'CANCELLED'): Promise<readonly Task[]> {
      const finishedAt = clock.now();
      const ended = await database.write(
        async (tx) => {
          const done: Task[] = [];
          for (const task of tasks)
            done.push(...[await endTask(tx, task, { status, finishedAt })].flatMap((one) => one ?? []));
          await work.recordEnds(tx, done);
          return done;
        },
        { of: 'rows' },
      );
      for (const task of ended) await work.afterEnd(task);
      return ended;
    },
    readLog: (task: Task): Promise<LogLine[]> => listLogLines(database, task),
    async *readReport(task: Task): AsyncGenerator<string> {
      for (let part = 0; ; part += 1) {
        const lines = await findReportPart(database, task, part);
        if (lines === undefined) return;
        yield lines;
      }
    },
    /** @returns the task once it ended, or as it is after the time. */
    waitUntilEnded: (task: Task, waitMs: number) =>
      watch.waitUntilEnded(() => findTask(database, task.id), task, waitMs),
    /** Whether a project has ordered tasks that have not ended. */
    hasOpenOrdered: (projectId: number) => hasOpenOrdered(database, projectId),
    /** Tasks that wait for their turn, of all processes. */
    countWaiting: () => countUnclaimed(database, work.listKinds()),
    /** By kind, of those that run by themselves. */
    findOldest: () => findOldest(database, work.listKinds()),
    dropEndedBefore: (before: number) => dropTasksBefore(database, before),
  };
}
