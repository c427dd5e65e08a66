import type { EventType } from '../events/events.ts';
import type { ReportLine, Task, TaskIncrement } from './task.ts';

/** What a running task may do besides its work. */
export interface TaskRun {
  readonly task: Task;
  /** In percent; shown while the task runs. */
  progress(percent: number): Promise<void>;
  log(line: string): Promise<void>;
  /** A text is a line that is written already. */
  report(line: ReportLine | string): void;
  /** Counts lines that were left out of the report. */
  leaveOut(lines: number): void;
  /** What the task has done, in figures; kept with its end. */
  count(result: object): void;
  /**
   * Does what cannot be cancelled any more once begun, nor after a failure that may have been stored, until it was tried
   * again or the doubt is cleared. @throws AbortError when the task was cancelled before
   */
  takeEffect<Result>(work: () => Promise<Result>): Promise<Result>;
  /**
   * Accepts the parts that write for the task. Once it has, the task is cancelled with all of them or not at all: whoever
   * asked a moment before would otherwise end it, and they would write all the same. @throws as takeEffect
   */
  passOn<Result>(accept: () => Promise<Result>): Promise<Result>;
  /** Says that the run knows what earlier ones stored, so that it can be cancelled again before it takes effect. */
  clearDoubt(): void;
  /** Aborts when the task is cancelled or the process stops. */
  readonly signal: AbortSignal;
}

/** A kind of work: its stored payload and the code that does it. `run` must be safe to run twice. */
export interface TaskDefinition<Payload extends object> {
  readonly kind: string;
  readonly name: string;
  readonly increment: TaskIncrement;
  /** RUNNING: asked for by a caller. PENDING: started by the service itself, or waiting for its commit. */
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
  /** What its end tells besides `task.finished` or `task.failed`. */
  eventOfEnd?(payload: Payload, task: Task): { readonly type: EventType; readonly data: object } | undefined;
  /** Cleans up after the task, whatever its end. */
  ended?(payload: Payload, task: Task): Promise<void>;
}

/** A definition as the runner sees it: the payload comes back as it was stored. */
export interface RunnableTask {
  run(payload: never, run: TaskRun): Promise<void>;
}
