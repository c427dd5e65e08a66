import { type FailureCode, ServiceError } from '../kernel/errors.ts';
import { traced, tracedApart } from '../kernel/trace.ts';
import { type Base, mayBeStored, translateSqliteError } from '../storage/storage.ts';
import { isTransient, pause } from './poll.ts';
import { REPORT_LINES, type Task, type TaskDefinition, type TaskRun } from './task.ts';
import { addLogLine, saveProgress } from './task-lease-store.ts';
import type { TaskLeases } from './task-leases.ts';
import type { TaskFailure } from './task-schemas.ts';
import type { TaskWatch } from './task-watch.ts';

export interface TaskParts extends Pick<Base, 'clock' | 'database' | 'logger'> {
  /** The text of a refusal, as the wire shows it. */
  readonly describeRefusal: (error: ServiceError) => { message: string };
  /** Called for every task that ended in this process, for the metrics. */
  readonly onEnded?: (task: Task) => void;
  /** Called for every error of a run in this process, even if the run waits and continues. */
  readonly onTrouble?: (task: Task, code: FailureCode | 'unexpected') => void;
  /** @throws catalog_damaged for a project whose tasks would only wait */
  readonly refuseProject?: (projectId: number) => void;
  /** Resolves when all readers, replicas included, see everything committed; awaited before a task is FINISHED. */
  readonly shown?: () => Promise<void> | undefined;
  /** Whether this process runs tasks; even if not, it accepts, holds and cancels them. */
  readonly runs?: boolean;
}

/** A run whose end has to be stored. */
export type EndedRun = {
  readonly report: readonly string[];
  readonly unreported: number;
  readonly result?: object | undefined;
} & (
  | { readonly status: 'FINISHED' | 'CANCELLED'; readonly failure?: undefined }
  | { readonly status: 'FAILED'; readonly failure: TaskFailure }
);

/** `handed-back` leaves the task to another process. */
type RunOutcome = EndedRun | { readonly status: 'handed-back' };

export interface ActiveRun {
  readonly task: Task;
  /** Resolves when the run has ended; never rejects. */
  readonly outcome: Promise<RunOutcome>;
  /** @returns false when the task is already taking effect and can no longer be cancelled */
  cancel(): boolean;
  /** Stops the run where it is, and leaves the task open. */
  handBack(): void;
}

/** Delay before a run is retried after a transient error. */
export const PAUSE_MS = 5_000;
/** Progress is for people, so one write in this interval is enough. */
const PROGRESS_EVERY_MS = 500;

const CANCELLED: EndedRun = { status: 'CANCELLED', report: [], unreported: 0 };

type RunNotes = { report: string[]; unreported: number; result: object | undefined };

export function startRun(
  task: Task,
  definition: TaskDefinition<never>,
  { parts, watch, leases }: { parts: TaskParts; watch: TaskWatch; leases: TaskLeases },
): ActiveRun {
  const { clock, database, logger } = parts;
  const { owner } = leases;
  const controller = new AbortController();
  const { signal } = controller;
  let stage: 'before' | 'taking-effect' = 'before';
  let isCancelled = false;
  let progressSavedAt = clock.now();
  let notes: RunNotes = { report: [], unreported: 0, result: undefined };
  const { kind, id, projectId } = task;
  const attributes = { 'relata.task.kind': kind, 'relata.task.id': id, 'relata.project.id': projectId };
  const span = { name: `task ${kind}`, attributes };

  const run: TaskRun = {
    task,
    signal,
    async progress(percent) {
      if (clock.now() - progressSavedAt < PROGRESS_EVERY_MS) return;
      progressSavedAt = clock.now();
      await saveProgress(database, task, { owner, progress: Math.min(99, Math.floor(percent)) });
      watch.changed(task.id);
    },
    async log(line) {
      await database.write('rows', (tx) => addLogLine(tx, task, { owner, at: clock.now(), line }));
      watch.changed(task.id);
    },
    report(line) {
      if (notes.report.length >= REPORT_LINES) notes.unreported += 1;
      else notes.report.push(typeof line === 'string' ? line : JSON.stringify(line));
    },
    leaveOut(lines) {
      notes.unreported += lines;
    },
    count(result) {
      notes.result = result;
    },
    async takeEffect(commit) {
      const result = await run.passOn(() => traced({ name: 'commit', attributes: {} }, commit));
      stage = 'before';
      return result;
    },
    async passOn(accept) {
      // Hands the task back if another process holds it by now.
      await leases.confirm(task);
      signal.throwIfAborted();
      stage = 'taking-effect';
      try {
        return await accept();
      } catch (error) {
        // A commit whose answer was lost may have changed what a cancelled task must leave unchanged.
        if (!mayBeStored(error)) stage = 'before';
        throw error;
      }
    },
    clearDoubt() {
      stage = 'before';
    },
  };

  const noteTrouble = (error: unknown) =>
    parts.onTrouble?.(task, error instanceof ServiceError ? error.code : 'unexpected');

  async function execute(): Promise<RunOutcome> {
    for (;;) {
      notes = { report: [], unreported: 0, result: undefined };
      try {
        // The payload is what a task of this kind was accepted with, which the types cannot express.
        const payload = JSON.parse(task.payload) as never;
        await tracedApart(task.traceparent, span, async () => definition.run?.(payload, run));
        return { status: 'FINISHED', ...notes };
      } catch (error) {
        // Every failure of a task is its outcome, stored with its reason; `judge` logs faults of the service.
        const outcome = await judge(error);
        if (outcome !== 'again') return outcome;
      }
    }
  }

  async function judge(thrown: unknown): Promise<RunOutcome | 'again'> {
    const error = translateSqliteError(thrown, task.projectId);
    noteTrouble(error);
    if (!signal.aborted) {
      if (!isTransient(error)) return endWith(error);
      logger.warn({ task: task.id, code: error.code, err: error }, 'the task cannot go on now, it waits');
      await pause(PAUSE_MS, signal);
      if (!signal.aborted) return 'again';
    }
    return isCancelled ? CANCELLED : { status: 'handed-back' };
  }

  function endWith(error: unknown): EndedRun {
    if (error instanceof PartCancelled) return CANCELLED;
    return { status: 'FAILED', failure: describeFailure(error, task, parts), ...notes };
  }

  return {
    task,
    outcome: execute(),
    cancel() {
      if (stage === 'taking-effect') return false;
      isCancelled = true;
      controller.abort();
      return true;
    },
    handBack() {
      isCancelled = false;
      controller.abort();
    },
  };
}

function describeFailure(error: unknown, task: Task, parts: TaskParts): TaskFailure {
  if (error instanceof PartFailed) return error.failure;
  if (error instanceof ServiceError) {
    // The only refusal that its sender cannot have caused.
    if (error.code === 'payload_damaged')
      parts.logger.error({ task: task.id, err: error }, 'what was stored of a request is damaged');
    return describeRefused(parts, error);
  }
  parts.logger.error({ task: task.id, err: error }, 'unexpected error in a task');
  return { code: 'unexpected', message: 'Internal error, see the log of the server', details: [] };
}

/** @returns a refusal in the form that a failed task shows */
export const describeRefused = (
  { describeRefusal }: Pick<TaskParts, 'describeRefusal'>,
  error: ServiceError,
): TaskFailure => ({
  code: error.code,
  message: describeRefusal(error).message,
  details: [...(error.facts.details ?? [])],
});

/** A part of a task failed, so the whole fails for the same reason. */
export class PartFailed extends Error {
  readonly failure: TaskFailure;

  constructor(failure: TaskFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** A part of a task was cancelled before it took effect, and so is the whole. */
export class PartCancelled extends Error {}
