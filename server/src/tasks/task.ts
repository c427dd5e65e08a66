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
  /** Tasks of one project and lane run one after another. The lane of ordered tasks is ''. */
  readonly lane: string;
  readonly requestedAt: number;
  readonly startedAt: number;
  readonly finishedAt: number | undefined;
  readonly progress: number;
  readonly logCounter: number;
  readonly payload: string;
  readonly failure: TaskFailure | undefined;
  /** The task's counts, in the form of its kind. */
  readonly result: object | undefined;
  /** The number of the task that contains this one as a part. Task lists show only the whole task. */
  readonly parent: number | undefined;
  /** The trace in which the task was accepted. Its run continues that trace. */
  readonly traceparent: string | undefined;
}

/** A line of a task's report, about one product or value. Source: docs/interface §4.7. */
export interface ReportLine {
  readonly identifier?: string;
  /** The position in the source where a pipeline read it. */
  readonly row?: number;
  readonly column?: string;
  readonly code: string;
  readonly attribute?: string;
  /** A field of a channel's format. */
  readonly field?: string;
  readonly value?: string;
  /** The number of values that this line represents. */
  readonly count?: number;
  readonly message: string;
}

export interface LogLine {
  readonly at: number;
  readonly line: string;
}

/** Source: docs/interface §4.7. */
export const REPORT_LINES = 100_000;

export type Lane = Pick<Task, 'projectId' | 'lane'>;

export const laneKey = ({ projectId, lane }: Lane) => `${projectId} ${lane}`;

/** A kind reads only payloads that it wrote itself, which types cannot express. */
export const readPayload = ({ payload }: Task): object => JSON.parse(payload) as object;

export function hasEnded({ status }: Pick<Task, 'status'>): boolean {
  return status !== 'PENDING' && status !== 'RUNNING';
}

/** @returns the task in the form of docs/interface §2.4; `error` is present only on a failed task */
export function toWireTask(task: Task) {
  // Some kinds store `warnings`, which are sentences for people, or `counts`, which are figures for the answer.
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
  /** Saves the progress in percent, which is shown while the task runs. */
  progress(percent: number): Promise<void>;
  log(line: string): Promise<void>;
  /** Adds a line to the report. A text is already serialised. */
  report(line: ReportLine | string): void;
  /** Counts lines that the report omits. */
  leaveOut(lines: number): void;
  /** Records the figures of the task, which are stored with its end. */
  count(result: object): void;
  /**
   * Does the part of the work that cannot be cancelled once begun. If the work fails but may have been stored, the
   * task cannot be cancelled until the work has been retried or `clearDoubt` is called.
   * @throws AbortError when the task was cancelled before
   */
  takeEffect<Result>(work: () => Promise<Result>): Promise<Result>;
  /**
   * Accepts the parts that write for the task. From then on the task is cancelled with all of them or not at all.
   * Otherwise a cancel that saw no parts yet could end the task, and the parts would still write.
   * @throws as takeEffect
   */
  passOn<Result>(accept: () => Promise<Result>): Promise<Result>;
  /** States that the run knows what earlier runs stored, so that it can be cancelled again until it takes effect. */
  clearDoubt(): void;
  /** Aborts when the task is cancelled or the process stops. */
  readonly signal: AbortSignal;
}

/** A kind of work: the code that runs its stored payloads. `run` must be safe to run twice. */
export interface TaskDefinition<Payload extends object> {
  readonly kind: string;
  readonly name: string;
  readonly increment: TaskIncrement;
  /** RUNNING: a caller requested it. PENDING: the service started it, or it waits for its commit. */
  readonly acceptedAs: 'RUNNING' | 'PENDING';
  /** Ordered tasks of a project run one after another. Others run in parallel to them. */
  readonly isOrdered: boolean;
  /** The most tasks of this kind that run at a time. Without it, only the limit for all kinds applies. */
  readonly atOnce?: {
    readonly inProcess: number;
    /** The most per account and process, so that one account leaves room for others. */
    readonly inAccount: number;
    /** The most per project over all processes, so that one project leaves room for others. */
    readonly inProject: number;
  };
  /** Absent for tasks that other tasks carry, such as an upload, which its commit ends. */
  run?(payload: Payload, run: TaskRun): Promise<void>;
  /** The event recorded at its end in addition to `task.finished` or `task.failed`. */
  eventOfEnd?(payload: Payload, task: Task): { readonly type: EventType; readonly data: object } | undefined;
  /** Cleans up after the task, however it ended. */
  ended?(payload: Payload, task: Task): Promise<void>;
}

export interface NewTaskRequest<Payload extends object> {
  readonly project: Pick<ChosenProject, 'id' | 'name' | 'origin'>;
  readonly payload: Payload;
  /** The origin; by default that of the chosen project. */
  readonly origin?: TaskOrigin;
  /** Replaces the name of the definition. */
  readonly name?: string;
  /**
   * Keeps the task from running until it is released, for example because its change is made next. It runs anyway if
   * this process dies first. A held task is PENDING.
   */
  readonly isHeld?: boolean;
  /** For unordered tasks, which run in parallel to those of other lanes. */
  readonly lane?: string;
  readonly parent?: Task;
  /** Writes more in the transaction that accepts the task. */
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
