import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../kernel/clock.ts';
import { type FailureCode, ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import { traced, tracedApart } from '../kernel/trace.ts';
import { mayBeStored, translateSqliteError } from '../storage/storage.ts';
import type { ReportLine, Task, TaskFailure } from './task.ts';
import { REPORT_LINES } from './task.ts';
import type { RunnableTask, TaskRun } from './task-definition.ts';

/** A run whose end is to be stored. */
export type EndedRun = {
  readonly report: readonly string[];
  readonly unreported: number;
  readonly result?: object | undefined;
} & (
  | { readonly status: 'FINISHED' | 'CANCELLED'; readonly failure?: undefined }
  | { readonly status: 'FAILED'; readonly failure: TaskFailure }
);

/** `handed-back` leaves the task for another process to run. */
export type RunOutcome = EndedRun | { readonly status: 'handed-back' };

export interface RunnerHooks {
  readonly clock: Clock;
  readonly logger: Logger;
  saveProgress(task: Task, progress: number): Promise<void>;
  saveLog(task: Task, line: string): Promise<void>;
  /** Before a task takes effect: hands it back when another process has it by now. */
  confirmLease(task: Task): Promise<void>;
  describeFailure(error: ServiceError): TaskFailure;
  /** Of each error of a run, also of one that is tried again. */
  onTrouble(task: Task, error: unknown): void;
}

/** A task under way. */
export interface ActiveRun {
  readonly task: Task;
  /** Ends when the run ended; never rejects. */
  readonly outcome: Promise<RunOutcome>;
  /** @returns false when the task takes effect already and can no longer be cancelled. */
  cancel(): boolean;
  /** Stops the run where it is; the task stays open. */
  handBack(): void;
}

/** A full or failing disk, or a catalog that another program holds, is somebody's to mend; the accepted work waits for it. */
const TRANSIENT: ReadonlySet<string> = new Set<FailureCode>([
  ...(['storage_full', 'storage_failed', 'catalog_damaged', 'schema_moved', 'not_ready'] as const),
]);
export const PAUSE_MS = 5_000;
/** Progress is for people: more than one write in this time tells them nothing. */
const PROGRESS_EVERY_MS = 500;

const CANCELLED: EndedRun = { status: 'CANCELLED', report: [], unreported: 0 };

/** What a run has to say beside its end. */
class RunNotes {
  private readonly lines: string[] = [];
  private unreported = 0;
  private result: object | undefined;

  report(line: ReportLine | string): void {
    if (this.lines.length >= REPORT_LINES) this.unreported += 1;
    else this.lines.push(typeof line === 'string' ? line : JSON.stringify(line));
  }

  leaveOut(lines: number): void {
    this.unreported += lines;
  }

  count(result: object): void {
    this.result = result;
  }

  clear(): void {
    this.lines.length = 0;
    this.unreported = 0;
    this.result = undefined;
  }

  get all() {
    return { report: this.lines, unreported: this.unreported, result: this.result };
  }
}

/** Runs one claimed task to its end. */
export function startRun(task: Task, definition: RunnableTask, hooks: RunnerHooks): ActiveRun {
  const controller = new AbortController();
  let stage: 'before' | 'taking-effect' = 'before';
  let wish: 'run' | 'cancel' | 'hand-back' = 'run';
  const notes = new RunNotes();

  const run: TaskRun = {
    task,
    signal: controller.signal,
    progress: noteProgress(task, hooks),
    log: (line) => hooks.saveLog(task, line),
    report: (line) => notes.report(line),
    leaveOut: (lines) => notes.leaveOut(lines),
    count: (result) => notes.count(result),
    async takeEffect(work) {
      const result = await run.passOn(() => traced({ name: 'commit', attributes: {} }, work));
      stage = 'before';
      return result;
    },
    async passOn(work) {
      await hooks.confirmLease(task);
      controller.signal.throwIfAborted();
      stage = 'taking-effect';
      try {
        return await work();
      } catch (error) {
        // A commit whose answer was lost may have changed what a cancelled task must leave as it was.
        if (!mayBeStored(error)) stage = 'before';
        throw error;
      }
    },
    clearDoubt() {
      stage = 'before';
    },
  };

  async function execute(): Promise<RunOutcome> {
    for (;;) {
      notes.clear();
      try {
        // A payload is what a task of this kind was accepted with, which no type says.
        await tracedApart(task.traceparent, describeSpan(task), () =>
          definition.run(JSON.parse(task.payload) as never, run),
        );
        return { status: 'FINISHED', ...notes.all };
      } catch (error) {
        // Every failure of a task is its outcome, stored with its reason; `judge` logs what is a fault of the service.
        const outcome = await judge(error);
        if (outcome !== 'again') return outcome;
      }
    }
  }

  async function judge(thrown: unknown): Promise<RunOutcome | 'again'> {
    const error = translateSqliteError(thrown, task.projectId);
    hooks.onTrouble(task, error);
    if (!controller.signal.aborted) {
      if (!isTransient(error)) return endWith(error, { task, hooks, notes });
      hooks.logger.warn(
        { task: task.id, code: error.code, err: error },
        'the task cannot go on now, it waits',
      );
      await pause(PAUSE_MS, controller.signal);
      if (!controller.signal.aborted) return 'again';
    }
    return wish === 'cancel' ? CANCELLED : { status: 'handed-back' };
  }

  return {
    task,
    outcome: execute(),
    cancel() {
      if (stage === 'taking-effect') return false;
      wish = 'cancel';
      controller.abort();
      return true;
    },
    handBack() {
      wish = 'hand-back';
      controller.abort();
    },
  };
}

function noteProgress(task: Task, hooks: RunnerHooks): TaskRun['progress'] {
  let savedAt = hooks.clock.now();
  return async (percent) => {
    if (hooks.clock.now() - savedAt < PROGRESS_EVERY_MS) return;
    savedAt = hooks.clock.now();
    await hooks.saveProgress(task, Math.min(99, Math.floor(percent)));
  };
}

const describeSpan = ({ kind, id, projectId }: Task) => ({
  name: `task ${kind}`,
  attributes: { 'relata.task.kind': kind, 'relata.task.id': id, 'relata.project.id': projectId },
});

interface Ending {
  readonly task: Task;
  readonly hooks: RunnerHooks;
  readonly notes: RunNotes;
}

function endWith(error: unknown, { task, hooks, notes }: Ending): EndedRun {
  if (error instanceof PartCancelled) return CANCELLED;
  return { status: 'FAILED', failure: describeFailure(error, task, hooks), ...notes.all };
}

function describeFailure(error: unknown, task: Task, hooks: RunnerHooks): TaskFailure {
  if (error instanceof PartFailed) return error.failure;
  if (error instanceof ServiceError) {
    // Of all refusals the only one that its sender cannot have caused.
    if (error.code === 'payload_damaged')
      hooks.logger.error({ task: task.id, err: error }, 'what was stored of a request is damaged');
    return hooks.describeFailure(error);
  }
  hooks.logger.error({ task: task.id, err: error }, 'unexpected error in a task');
  return { code: 'unexpected', message: 'Internal error, see the log of the server', details: [] };
}

/** A part of a task failed: the whole fails for the same reason. */
export class PartFailed extends Error {
  readonly failure: TaskFailure;

  constructor(failure: TaskFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** A part of a task was cancelled before it took effect, and so is the whole. */
export class PartCancelled extends Error {}

/** What passes: the accepted work waits for it. */
export function isTransient(error: unknown): error is ServiceError {
  return error instanceof ServiceError && TRANSIENT.has(error.code);
}

/** @returns after this time, or when the signal aborts */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // Rejects when the signal aborts.
  await delay(ms, undefined, { signal, ref: false }).catch(() => {});
}
