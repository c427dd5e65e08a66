import {
  createSchedule,
  type Found,
  findNextRun,
  moveDue,
  startOnce,
} from '../../definitions/definitions.ts';
import type { Logger } from '../../kernel/logger.ts';
import { type Database, readNow } from '../../storage/storage.ts';
import { PIPELINES, type Pipeline } from '../definitions/definitions.ts';
import type { PipelineRuns } from './pipeline-runs.ts';

export interface ScheduleParts {
  readonly database: Database;
  readonly logger: Logger;
  readonly runs: Pick<PipelineRuns, 'start'>;
}

/** Starts pipelines when their schedules are due. Source: docs/interface.md §13.3. */
export function createPipelineSchedule({ database, logger, runs }: ScheduleParts) {
  async function startDue({ resource: pipeline, project }: Found<Pipeline>): Promise<void> {
    const { trigger } = pipeline.definition;
    const now = await readNow(database.read, database);
    const next = { dueAt: trigger.type === 'schedule' ? findNextRun(trigger, now) : undefined };
    const chosen = { resource: pipeline, next, busy: 'pipeline_running' } as const;
    const isStarted = await startOnce(PIPELINES, chosen, (alongside) =>
      runs.start(pipeline, project, { startedBy: 'schedule', alongside }),
    );
    if (isStarted) return;
    const { projectId, id, dueAt } = pipeline;
    const isOurs = await database.write((tx) => moveDue(tx, PIPELINES, chosen), { of: projectId });
    if (!isOurs) return;
    const facts = { projectId, pipelineId: id, dueAt };
    logger.info(facts, 'a schedule was due while its pipeline was running, this time is left out');
  }

  return createSchedule({
    ...{ database, logger, table: PIPELINES, subject: 'schedules of pipelines', startDue },
  });
}
