import { createSchedule, findNextRun, moveDue, startOnce } from '../../definitions/definitions.ts';
import type { Found } from '../../projects/projects.ts';
import { type Base, readNow } from '../../storage/storage.ts';
import { PIPELINES, type Pipeline } from '../pipeline-definitions/pipeline-definitions.ts';
import type { PipelineRuns } from './pipeline-runs.ts';

/** Starts pipelines when their schedules are due. Source: docs/interface §13.3. */
export function createPipelineSchedule({ database, logger }: Base, runs: PipelineRuns) {
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
    const isOurs = await database.write(projectId, (tx) => moveDue(tx, PIPELINES, chosen));
    if (!isOurs) return;
    const facts = { project: projectId, pipeline: id, dueAt };
    logger.info(facts, 'a schedule was due while its pipeline was running; this run is skipped');
  }

  return createSchedule({ database, logger, table: PIPELINES, subject: 'schedules of pipelines', startDue });
}
