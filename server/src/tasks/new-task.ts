import { randomBytes } from 'node:crypto';
import type { ChosenProject } from '../kernel/caller.ts';
import { currentTraceparent } from '../kernel/trace.ts';
import type { ControlTransaction } from '../storage/storage.ts';
import type { Task, TaskOrigin } from './task.ts';
import type { TaskDefinition } from './task-definition.ts';
import type { NewTask } from './task-store.ts';

export interface NewTaskRequest<Payload extends object> {
  readonly project: Pick<ChosenProject, 'id' | 'name' | 'origin'>;
  readonly payload: Payload;
  /** Default: that of the project, as it was chosen. */
  readonly origin?: TaskOrigin;
  /** Replaces the definition's name. */
  readonly name?: string;
  /**
   * Keeps the task from running until it is released, e.g. because it is about a change that is made next. It runs all
   * the same when this process is gone before. It is PENDING.
   */
  readonly isHeld?: boolean;
  /** Of those that are not ordered: others of their kind with another lane run beside it. */
  readonly lane?: string;
  /** The task that this one is a part of. */
  readonly parent?: Task;
  /** Written in the transaction that accepts the task. */
  readonly alongside?: (tx: ControlTransaction, task: Task) => Promise<void>;
}

/** @returns the row of a task that is accepted now */
export function describeTask<Payload extends object>(
  definition: TaskDefinition<Payload>,
  { project, name, origin, payload, isHeld, parent, lane }: NewTaskRequest<Payload>,
  now: number,
): NewTask {
  return {
    id: randomBytes(12).toString('hex'),
    projectId: project.id,
    projectName: project.name,
    kind: definition.kind,
    name: name ?? definition.name,
    origin: origin ?? project.origin ?? ('LIVE-API' as const),
    increment: definition.increment,
    status: isHeld ? ('PENDING' as const) : definition.acceptedAs,
    isOrdered: definition.isOrdered,
    lane: definition.isOrdered ? '' : [definition.kind, lane ?? []].flat().join(' '),
    requestedAt: now,
    startedAt: now,
    payload: JSON.stringify(payload),
    parent: parent?.number,
    traceparent: currentTraceparent(),
  };
}
