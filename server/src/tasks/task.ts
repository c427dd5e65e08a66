import { randomBytes } from 'node:crypto';
import type { EventType } from '../events/events.ts';
import type { ChosenProject } from '../kernel/caller.ts';
import { currentTraceparent } from '../kernel/trace.ts';
import type { ControlTransaction } from '../storage/storage.ts';
import type { TaskFailure, TaskOrigin, TaskStatus } from './task-schemas.ts';

export type TaskIncrement = 'STEP_BASED' | 'ITEM_BASED';

export interface Task {
  /** The order of acceptance, over all projects. */
  readonly number: number;
  readonly id: string;
  readonly projectId: number;
  readonly projectName: string;
  readonly kind: string;
  readonly name: string;
  readonly origin: TaskOrigin;
  readonly increment: TaskIncrement;
  readonly status: TaskStatus;
  readonly isOrdered: boolean;
  /** Tasks of one project and lane run one after another: '' is the lane of the ordered ones. */
  readonly lane: string;
  readonly requestedAt: number;
  readonly startedAt: number;
  readonly finishedAt: number | undefined;
  readonly progress: number;
  readonly logCounter: number;
  readonly payload: string;
  readonly failure: TaskFailure | undefined;
  /** What the task counted, as the code of its kind knows it. */
  readonly result: object | undefined;
  /** Number of the task that this one is a part of; task lists show the whole, not its parts. */
  readonly parent: number | undefined;
  /** What it was accepted in: its run continues that trace. */
  readonly traceparent: string | undefined;
}

/** A line of a task's report: something to say of one product or value. Source: docs/interface.md §4.7. */
export interface ReportLine {
  readonly identifier?: string;
  /** Where a pipeline read it. */
  readonly row?: number;
  readonly column?: string;
  readonly code: string;
  readonly attribute?: string;
  /** Of a channel's format. */
  readonly field?: string;
  readonly value?: string;
  /** Of values, on a line that stands for many. */
  readonly count?: number;
  readonly message: string;
}

export interface LogLine {
  readonly at: number;
  readonly line: string;
}

/** Source: docs/interface.md §4.7. */
export const REPORT_LINES = 100_000;

export type Lane = Pick<Task, 'projectId' | 'lane'>;

export const laneKey = ({ projectId, lane }: Lane) => `${projectId} ${lane}`;

export function hasEnded({ status }: Pick<Task, 'status'>): boolean {
  return status !== 'PENDING' && status !== 'RUNNING';
}

/** @returns the task as docs/interface.md §2.4 shows it; `error` only on a failed one. */
export function toWireTask(task: Task) {
  // What its code counted has sentences where people must know more than figures, and figures where its kind shows them.
  const { warnings, counts } = (task.result ?? {}) as {
    warnings?: string[];
    counts?: Record<string, number>;
  };
  return {
    id: task.id,
    projectId: task.projectId,
    projectName: task.projectName,
    origin: task.origin,
    taskStatus: task.status,
    name: task.name,
    taskIncrementType: task.increment,
    failure: task.status === 'FAILED',
    requestTime: task.requestedAt,
    startTime: task.startedAt,
    finishTime: task.finishedAt ?? null,
    progress: task.progress,
    logCounter: task.logCounter,
    ...(task.failure && { error: task.failure }),
    ...(warnings && { warnings }),
    ...(counts && { counts }),
  };
}

export type WireTask = ReturnType<typeof toWireTask>;

export interface TaskRun {
  readonly task: Task;
  /** In percent; shown while the task runs. */
  progress(percent: number): Promise<void>;
  log(line: string): Promise<void>;
  /** A text is a line that is written already. */
  report(line: ReportLine | string): void;
  /** Counts lines that were left out of the report. */
  leaveOut(lines: number): void;
  /** What the task has done, in figures; stored with its end. */
  count(result: object): void;
  /**
   * Does what cannot be cancelled any more once begun, nor after a failure that may have been stored, until it was tried
   * again or the doubt is cleared. @throws AbortError when the task was cancelled before
   */
  takeEffect<Result>(work: () => Promise<Result>): Promise<Result>;
  /**
   * Accepts the parts that write for the task. Once it has, the task is cancelled with all of them or not at all: a cancel
   * of a moment before would otherwise end it, and they would write all the same. @throws as takeEffect
   */
  passOn<Result>(accept: () => Promise<Result>): Promise<Result>;
  /** The run knows what earlier ones stored, so that it can be cancelled again before it takes effect. */
  clearDoubt(): void;
  /** Aborts when the task is cancelled or the process stops. */
  readonly signal: AbortSignal;
}

/** A kind of work: its stored payload and the code that does it. `run` must be safe to run twice. */
export interface TaskDefinition<Payload extends object> {
  readonly kind: string;
  readonly name: string;
  readonly increment: TaskIncrement;
  /** RUNNING: requested by a caller. PENDING: started by the service itself, or waiting for its commit. */
  readonly acceptedAs: 'RUNNING' | 'PENDING';
  /** Ordered tasks of a project run one after another; others run beside them. */
  readonly isOrdered: boolean;
  /** Most that run at a time; without it no more than of all kinds together. */
  readonly atOnce?: {
    readonly inProcess: number;
    /** In a process, so that one account leaves room for others. */
    readonly inAccount: number;
    /** Over all processes, so that one project leaves room for others. */
    readonly inProject: number;
  };
  /** Absent on tasks that others carry, e.g. an upload, which its commit ends. */
  run?(payload: Payload, run: TaskRun): Promise<void>;
  /** The event of its end besides `task.finished` or `task.failed`. */
  eventOfEnd?(payload: Payload, task: Task): { readonly type: EventType; readonly data: object } | undefined;
  /** Cleans up after the task, whatever its end. */
  ended?(payload: Payload, task: Task): Promise<void>;
}

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
  readonly parent?: Task;
  /** Written in the transaction that accepts the task. */
  readonly alongside?: (tx: ControlTransaction, task: Task) => Promise<void>;
}

export type NewTask = Omit<Task, 'number' | 'finishedAt' | 'progress' | 'logCounter' | 'failure' | 'result'>;

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
