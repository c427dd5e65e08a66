/**
 * The door of tasks: everything slow is a task, a stored payload plus the code that runs it, safe to run twice. The
 * ordered tasks of one project take effect one after another in the order of their acceptance; those of different
 * projects do not wait for each other. A process holds a lease on what it runs; on an embedded store the lock of the
 * data folder says that no other process is alive, so open tasks are taken over at the start. Tasks never know what
 * a product is.
 */

import { randomBytes } from 'node:crypto';
import type { ChosenProject } from '../kernel/caller.ts';
import type { ControlTransaction } from '../storage/storage.ts';
import type { LogLine, Task, TaskOrigin, TaskStatus } from './task.ts';
import type { TaskDefinition } from './task-definition.ts';
import { TaskLanes, type TaskParts } from './task-lanes.ts';
import {
  dropTasksBefore,
  findReportPart,
  findTask,
  insertTask,
  listLogLines,
  listOpenTasks,
  listTasks,
} from './task-store.ts';
import { createTaskWatch } from './task-watch.ts';

export { type LogLine, type ReportLine, type Task, toWireTask, type WireTask } from './task.ts';
export type { TaskDefinition, TaskRun } from './task-definition.ts';
export { WireTaskSchema } from './task-schemas.ts';

export interface NewTaskRequest<Payload extends object> {
  readonly project: Pick<ChosenProject, 'id' | 'name'>;
  readonly payload: Payload;
  readonly origin?: TaskOrigin;
  /** Replaces the definition's name. */
  readonly name?: string;
  /** Written in the transaction that accepts the task. */
  readonly alongside?: (tx: ControlTransaction, task: Task) => Promise<void>;
}

export type Tasks = ReturnType<typeof createTasks>;

export function createTasks(parts: TaskParts) {
  const { database, clock } = parts;
  const watch = createTaskWatch();
  const lanes = new TaskLanes(parts, watch);

  return {
    watch,
    define: (added: readonly TaskDefinition<never>[]) => lanes.define(added),

    /** Stores a task and, once that is durable, lets it run. */
    async accept<Payload extends object>(
      definition: TaskDefinition<Payload>,
      request: NewTaskRequest<Payload>,
    ): Promise<Task> {
      const task = await database.write(async (tx) => {
        const accepted = await insertTask(tx, describeTask(definition, request, clock.now()));
        await request.alongside?.(tx, accepted);
        return accepted;
      });
      lanes.schedule(task);
      return task;
    },

    /** Takes over every open task; called once, when all kinds are defined. */
    async start(): Promise<void> {
      for (const task of await listOpenTasks(database)) lanes.schedule(task);
      lanes.start();
    },
    async close(): Promise<void> {
      watch.close();
      await lanes.close();
    },

    find: (id: string) => findTask(database, id),
    list: (wanted: {
      projectId: number;
      status?: TaskStatus | undefined;
      below?: number | undefined;
      limit: number;
    }) => listTasks(database, wanted),
    listOpen: (projectId?: number) => listOpenTasks(database, projectId),
    cancel: (task: Task) => lanes.cancel(task),
    /** Ends tasks that others carry. */
    endTasks: (tasks: readonly Task[], status: 'FINISHED' | 'CANCELLED') => lanes.end(tasks, status),
    readLog: (task: Task): Promise<LogLine[]> => listLogLines(database, task.number),
    async *readReport(task: Task): AsyncGenerator<string> {
      for (let part = 0; ; part += 1) {
        const lines = await findReportPart(database, task.number, part);
        if (lines === undefined) return;
        yield lines;
      }
    },
    /** @returns the task once it ended, or as it is after the time. */
    waitUntilEnded: (task: Task, waitMs: number) =>
      watch.waitUntilEnded(() => findTask(database, task.id), task, waitMs),
    /** Whether a project has ordered tasks that have not ended. */
    hasOpenOrdered: async (projectId: number) =>
      (await listOpenTasks(database, projectId)).some((task) => task.isOrdered),
    countWaiting: () => lanes.countWaiting(),
    dropEndedBefore: (before: number) => dropTasksBefore(database, before),
  };
}

function describeTask<Payload extends object>(
  definition: TaskDefinition<Payload>,
  { project, name, origin, payload }: NewTaskRequest<Payload>,
  now: number,
) {
  return {
    id: randomBytes(12).toString('hex'),
    projectId: project.id,
    projectName: project.name,
    kind: definition.kind,
    name: name ?? definition.name,
    origin: origin ?? ('LIVE-API' as const),
    increment: definition.increment,
    status: definition.acceptedAs,
    isOrdered: definition.isOrdered,
    requestedAt: now,
    startedAt: now,
    payload: JSON.stringify(payload),
  };
}
