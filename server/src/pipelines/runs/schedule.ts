/** Starts pipelines when their schedules are due. Source: docs/interface.md §13.3. */
import { ServiceError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { ControlTransaction, Database } from '../../storage/storage.ts';
import type { Pipeline } from '../definitions/definitions.ts';
import {
  type FoundPipeline,
  findNextRun,
  listDue,
  moveSchedule,
  readNow,
} from '../definitions/definitions.ts';
import type { PipelineRuns } from './pipeline-runs.ts';

export interface ScheduleParts {
  readonly database: Database;
  readonly logger: Logger;
  readonly runs: Pick<PipelineRuns, 'start'>;
}

export interface PipelineSchedule {
  start(): void;
  /** Waits for what is being started. */
  close(): Promise<void>;
}

const isRunning = (error: unknown) => error instanceof ServiceError && error.code === 'pipeline_running';

const LOOK_EVERY_MS = 1_000;
/** Of those that are due, at a time; the others come with the next look. */
const TOGETHER = 100;

/** Another process started it, or the pipeline was changed meanwhile: nothing is left to do. */
class Moved extends Error {
  override readonly name = 'Moved';
}

/**
 * Every process that runs tasks looks. The next time is written in the transaction that starts the run, so one of them
 * starts it; a time that passed while nobody looked is due once.
 */
export function createSchedule({ database, logger, runs }: ScheduleParts): PipelineSchedule {
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> = Promise.resolve();
  let isClosed = false;
  let isFailing = false;

  async function look(): Promise<void> {
    const failures: unknown[] = [];
    const note = (error: unknown) => void failures.push(error);
    const due = await listDue(database, TOGETHER).catch((error: unknown) => {
      note(error);
      return [];
    });
    // One that cannot be started must not keep the others waiting.
    for (const found of due) if (!isClosed) await startDue(found).catch(note);
    // Once, and not every second while a database is away.
    if (failures.length > 0 && !isFailing)
      logger.warn({ err: failures[0] }, 'schedules of pipelines cannot be looked after, it is tried again');
    isFailing = failures.length > 0;
  }

  async function startDue({ pipeline, project }: FoundPipeline): Promise<void> {
    const { trigger } = pipeline.definition;
    const now = await readNow(database.read, database);
    const next = trigger.type === 'schedule' ? findNextRun(trigger, now) : undefined;
    const alongside = async (tx: ControlTransaction) => {
      if (!(await moveSchedule(tx, pipeline, next))) throw new Moved();
    };
    try {
      await runs.start(pipeline, project, { startedBy: 'schedule', alongside });
    } catch (error) {
      if (error instanceof Moved) return;
      if (!isRunning(error)) throw error;
      await leaveOut(pipeline, next);
    }
  }

  async function leaveOut(pipeline: Pipeline, next: number | undefined): Promise<void> {
    const { projectId, id, nextRunAt } = pipeline;
    const isOurs = await database.write((tx) => moveSchedule(tx, pipeline, next), { of: projectId });
    if (!isOurs) return;
    const facts = { projectId, pipelineId: id, dueAt: nextRunAt };
    logger.info(facts, 'a schedule was due while its pipeline was running, this time is left out');
  }

  function plan(): void {
    timer = setTimeout(() => {
      looking = look().finally(() => {
        if (!isClosed) plan();
      });
    }, LOOK_EVERY_MS);
    timer.unref();
  }

  return {
    start: plan,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await looking;
    },
  };
}
