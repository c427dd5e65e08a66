import { type FailureCode, ServiceError } from '../kernel/errors.ts';
import { traced, tracedApart } from '../kernel/trace.ts';
import { type Base, mayBeStored, translateSqliteError } from '../storage/storage.ts';
import { isTransient, pause, RETRY_MS } from './poll.ts';
import {
  REPORT_LINES,
  type ReportLine,
  readPayload,
  type Task,
  type TaskDefinition,
  type TaskRun,
} from './task.ts';
import { addLogLine, saveProgress } from './task-lease-store.ts';
import type { TaskLeases } from './task-leases.ts';
import type { TaskFailure } from './task-schemas.ts';
import type { TaskWatch } from './task-watch.ts';

export interface TaskParts extends Pick<Base, 'clock' | 'database' | 'logger'> {
  /** The text of a refusal in the form of an error answer. */
  readonly describeRefusal: (error: ServiceError) => { message: string };
  /** Called for every task that ended in this process, for the metrics. */
  readonly onEnded?: (task: Task) => void;
  /** Called for every error of a run in this process, even if the run waits and continues. */
  readonly onTrouble?: (task: Task, code: FailureCode | 'unexpected') => void;
  /** @throws catalog_damaged for a project whose tasks could not run */
  readonly refuseProject?: (projectId: number) => void;
  /**
   * Resolves when all readers, including replicas, see everything committed. It is awaited before a task is FINISHED.
   */
  readonly shown?: () => Promise<void> | undefined;
  /** Whether this process runs tasks. If not, it still accepts, holds and cancels them. */
  readonly runs?: boolean;
}

/** A run whose end is to be stored. */
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

/** One write in this interval is enough, because only people read the progress. */
const PROGRESS_EVERY_MS = 500;

const CANCELLED: EndedRun = { status: 'CANCELLED', report: [], unreported: 0 };

interface RunMeans {
  readonly parts: TaskParts;
  readonly watch: TaskWatch;
  readonly leases: TaskLeases;
}

/** A run of a task in this process, from its claim to its end. The code of its kind receives it as `TaskRun`. */
export class ActiveRun implements TaskRun {
  readonly task: Task;
  readonly signal: AbortSignal;
  /** Resolves when the run has ended. It never rejects. */
  readonly outcome: Promise<RunOutcome>;
  private readonly definition: TaskDefinition<object>;
  private readonly means: RunMeans;
  private readonly controller = new AbortController();
  private stage: 'before' | 'taking-effect' = 'before';
  private isCancelled = false;
  private progressSavedAt: number;
  private notes: RunNotes = startNotes();

  /** Starts the run. */
  constructor(task: Task, definition: TaskDefinition<object>, means: RunMeans) {
    this.task = task;
    this.definition = definition;
    this.means = means;
    this.signal = this.controller.signal;
    this.progressSavedAt = means.parts.clock.now();
    this.outcome = this.execute();
  }

  /** @returns false when the task is already taking effect and can no longer be cancelled */
  cancel(): boolean {
    if (this.stage === 'taking-effect') return false;
    this.isCancelled = true;
    this.controller.abort();
    return true;
  }

  /** Stops the run and leaves the task open. */
  handBack(): void {
    this.isCancelled = false;
    this.controller.abort();
  }

  async progress(percent: number): Promise<void> {
    const { clock, database } = this.means.parts;
    const { owner } = this.means.leases;
    if (clock.now() - this.progressSavedAt < PROGRESS_EVERY_MS) return;
    this.progressSavedAt = clock.now();
    await saveProgress(database, this.task, { owner, progress: Math.min(99, Math.floor(percent)) });
    this.means.watch.changed(this.task.id);
  }

  async log(line: string): Promise<void> {
    const { clock, database } = this.means.parts;
    const { owner } = this.means.leases;
    await database.write('rows', (tx) => addLogLine(tx, this.task, { owner, at: clock.now(), line }));
    this.means.watch.changed(this.task.id);
  }

  report(line: ReportLine | string): void {
    const { notes } = this;
    if (notes.report.length >= REPORT_LINES) notes.unreported += 1;
    else notes.report.push(typeof line === 'string' ? line : JSON.stringify(line));
  }

  leaveOut(lines: number): void {
    this.notes.unreported += lines;
  }

  count(result: object): void {
    this.notes.result = result;
  }

  async takeEffect<Result>(commit: () => Promise<Result>): Promise<Result> {
    const result = await this.passOn(() => traced({ name: 'commit', attributes: {} }, commit));
    this.stage = 'before';
    return result;
  }

  async passOn<Result>(accept: () => Promise<Result>): Promise<Result> {
    // If another process holds the task, this hands it back.
    await this.means.leases.confirm(this.task);
    this.signal.throwIfAborted();
    this.stage = 'taking-effect';
    try {
      return await accept();
    } catch (error) {
      // If the answer to a commit was lost, the commit may have made changes, and then the task must not be cancelled.
      if (!mayBeStored(error)) this.stage = 'before';
      throw error;
    }
  }

  clearDoubt(): void {
    this.stage = 'before';
  }

  private async execute(): Promise<RunOutcome> {
    const { definition, task } = this;
    const { kind, id, projectId } = task;
    const attributes = { 'relata.task.kind': kind, 'relata.task.id': id, 'relata.project.id': projectId };
    const span = { name: `task ${kind}`, attributes };
    for (;;) {
      this.notes = startNotes();
      try {
        const payload = readPayload(task);
        await tracedApart(task.traceparent, span, async () => definition.run?.(payload, this));
        return { status: 'FINISHED', ...this.notes };
      } catch (error) {
        // Every failure becomes the outcome of the task and is stored with its reason. `judge` logs faults of the
        // service.
        const outcome = await this.judge(error);
        if (outcome !== 'again') return outcome;
      }
    }
  }

  private async judge(thrown: unknown): Promise<RunOutcome | 'again'> {
    const { task, signal } = this;
    const { logger, onTrouble } = this.means.parts;
    const error = translateSqliteError(thrown, task.projectId);
    onTrouble?.(task, error instanceof ServiceError ? error.code : 'unexpected');
    if (!signal.aborted) {
      if (!isTransient(error)) return this.endWith(error);
      logger.warn({ task: task.id, code: error.code, err: error }, 'a task cannot continue; retrying in 5 s');
      await pause(RETRY_MS, signal);
      if (!signal.aborted) return 'again';
    }
    return this.isCancelled ? CANCELLED : { status: 'handed-back' };
  }

  private endWith(error: unknown): EndedRun {
    if (error instanceof PartCancelled) return CANCELLED;
    const failure = describeFailure(error, this.task, this.means.parts);
    return { status: 'FAILED', failure, ...this.notes };
  }
}

interface RunNotes {
  readonly report: string[];
  unreported: number;
  result: object | undefined;
}

const startNotes = (): RunNotes => ({ report: [], unreported: 0, result: undefined });

function describeFailure(error: unknown, task: Task, parts: TaskParts): TaskFailure {
  if (error instanceof PartFailed) return error.failure;
  if (error instanceof ServiceError) {
    // The only refusal that the sender of the task cannot have caused.
    if (error.code === 'payload_damaged')
      parts.logger.error(
        { task: task.id, err: error },
        'the stored payload of a task is damaged; the task fails',
      );
    return describeRefused(parts, error);
  }
  parts.logger.error({ task: task.id, err: error }, 'unexpected error in a task; the task fails');
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

/** A part of a task failed, so the whole task fails for the same reason. */
export class PartFailed extends Error {
  readonly failure: TaskFailure;

  constructor(failure: TaskFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** A part of a task was cancelled before it took effect, so the whole task is cancelled. */
export class PartCancelled extends Error {}
