/** Source: docs/interface.md §3.2. */
export type TaskStatus = 'PENDING' | 'RUNNING' | 'FINISHED' | 'FAILED' | 'CANCELLED';
export type TaskOrigin = 'LIVE-API' | 'CONSOLE' | 'PIPELINE' | 'CHANNEL';
export type TaskIncrement = 'STEP_BASED' | 'ITEM_BASED';

/** Why a task failed: the same code, text and details that a refusal would have had. */
export interface TaskFailure {
  readonly code: string;
  readonly message: string;
  readonly details: string[];
}

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

/** @returns the same for tasks of one lane */
export const laneKey = ({ projectId, lane }: Lane) => `${projectId} ${lane}`;

export function hasEnded({ status }: Pick<Task, 'status'>): boolean {
  return status !== 'PENDING' && status !== 'RUNNING';
}

/** What its code counted has a list of sentences where people must know more than figures. */
function notesOf({ result }: Task): TaskNotes {
  const { warnings, counts } = (result ?? {}) as TaskNotes;
  return { ...(warnings && { warnings }), ...(counts && { counts }) };
}

interface TaskNotes {
  readonly warnings?: string[];
  /** By name, where its kind shows them on the task. */
  readonly counts?: Record<string, number>;
}

/** @returns the task as docs/interface.md §2.4 shows it; `error` only on a failed one. */
export function toWireTask(task: Task) {
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
    ...notesOf(task),
  };
}

export type WireTask = ReturnType<typeof toWireTask>;
