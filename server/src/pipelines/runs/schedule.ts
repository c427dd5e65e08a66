/** Starts pipelines when their schedules are due. Source: docs/interface.md §13.3. */
import { ServiceError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/logger.ts';
import { type ControlTransaction, type Database, readNow } from '../../storage/storage.ts';
import { createDueWatch, Moved } from '../../tasks/tasks.ts';
import type { Pipeline } from '../definitions/definitions.ts';
import { type FoundPipeline, findNextRun, listDue, moveSchedule } from '../definitions/definitions.ts';
import type { PipelineRuns } from './pipeline-runs.ts';

export interface ScheduleParts {
  readonly database: Database;
  readonly logger: Logger;
  readonly runs: Pick<PipelineRuns, 'start'>;
}

const isRunning = (error: unknown) => error instanceof ServiceError && error.code === 'pipeline_running';

/** Of those that are due, read at a time. */
const TOGETHER = 100;

/**
 * Every process that runs tasks looks. The next time is written in the transaction that starts the run, so one of them
 * starts it; a time that passed while nobody looked is due once.
 */
export function createSchedule({ database, logger, runs }: ScheduleParts) {
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

  return createDueWatch<FoundPipeline>({
    logger,
    subject: 'schedules of pipelines',
    listDue: (after) => listDue(database, { after: after?.pipeline, limit: TOGETHER }),
    startDue,
  });
}
