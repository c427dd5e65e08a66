import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../kernel/clock.ts';
import { type FailureCode, ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import type { ReportLine, Task, TaskFailure } from './task.ts';
import { REPORT_LINES } from './task.ts';
import type { RunnableTask, TaskRun } from './task-definition.ts';

/** A run whose end is to be stored. */
export type EndedRun = { readonly report: readonly string[]; readonly unreported: number } & (
  | { readonly status: 'FINISHED' | 'CANCELLED'; readonly failure?: undefined }
  | { readonly status: 'FAILED'; readonly failure: TaskFailure }
);

/** `handed-back` leaves the task as it is for whoever runs it next. */
export type RunOutcome = EndedRun | { readonly status: 'handed-back' };

export interface RunnerHooks {
  readonly clock: Clock;
  readonly logger: Logger;
  saveProgress(task: Task, progress: number): Promise<void>;
  saveLog(task: Task, line: string): Promise<void>;
  /** Before a task takes effect: hands it back when another process has it by now. */
  confirmLease(task: Task): Promise<void>;
  describeFailure(error: ServiceError): TaskFailure;
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

/** A full disk, or a catalog that another program holds, is somebody's to mend; the accepted work waits for it. */
const TRANSIENT: ReadonlySet<string> = new Set<FailureCode>(['storage_full', 'not_ready']);
export const PAUSE_MS = 5_000;
/** Progress is for people: more than one write in this time tells them nothing. */
const PROGRESS_EVERY_MS = 500;

/** Runs one claimed task to its end. */
export function startRun(task: Task, definition: RunnableTask, hooks: RunnerHooks): ActiveRun {
  const controller = new AbortController();
  let stage: 'before' | 'taking-effect' = 'before';
  let wish: 'run' | 'cancel' | 'hand-back' = 'run';
  const report: string[] = [];
  let unreported = 0;
  let savedAt = hooks.clock.now();

  const run: TaskRun = {
    task,
    signal: controller.signal,
    async progress(percent) {
      if (hooks.clock.now() - savedAt < PROGRESS_EVERY_MS) return;
      savedAt = hooks.clock.now();
      await hooks.saveProgress(task, Math.min(99, Math.floor(percent)));
    },
    log: (line) => hooks.saveLog(task, line),
    report(line: ReportLine) {
      if (report.length < REPORT_LINES) report.push(JSON.stringify(line));
      else unreported += 1;
    },
    leaveOut(lines) {
      unreported += lines;
    },
    async takeEffect(work) {
      await hooks.confirmLease(task);
      controller.signal.throwIfAborted();
      stage = 'taking-effect';
      try {
        return await work();
      } finally {
        stage = 'before';
      }
    },
  };

  async function execute(): Promise<RunOutcome> {
    for (;;) {
      report.length = 0;
      unreported = 0;
      try {
        await definition.run(JSON.parse(task.payload) as never, run);
        return { status: 'FINISHED', report, unreported };
      } catch (error) {
        const outcome = await judge(error);
        if (outcome !== 'again') return outcome;
      }
    }
  }

  async function judge(error: unknown): Promise<RunOutcome | 'again'> {
    if (!controller.signal.aborted) {
      if (!isTransient(error)) {
        return { status: 'FAILED', failure: describeFailure(error), report, unreported };
      }
      hooks.logger.warn({ task: task.id, code: error.code }, 'the task cannot go on now, it waits');
      await pause(PAUSE_MS, controller.signal);
      if (!controller.signal.aborted) return 'again';
    }
    return wish === 'cancel' ? { status: 'CANCELLED', report: [], unreported: 0 } : { status: 'handed-back' };
  }

  function describeFailure(error: unknown): TaskFailure {
    if (error instanceof ServiceError) return hooks.describeFailure(error);
    hooks.logger.error({ task: task.id, err: error }, 'unexpected error in a task');
    return { code: 'unexpected', message: 'Internal error, see the log of the server', details: [] };
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

/** What passes: the accepted work waits for it. */
export function isTransient(error: unknown): error is ServiceError {
  return error instanceof ServiceError && TRANSIENT.has(error.code);
}

/** @returns after this time, or when the signal aborts */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // Rejects when the signal aborts.
  await delay(ms, undefined, { signal, ref: false }).catch(() => {});
}
