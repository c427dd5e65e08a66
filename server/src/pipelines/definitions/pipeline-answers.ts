/** The answers for pipelines and their runs. */
import { type Task, toWireTask } from '../../tasks/tasks.ts';
import { maskSource } from '../sources/sources.ts';
import { NO_COUNTS, type Pipeline, type RunCounts } from './pipeline.ts';
import type { PipelineRun } from './pipeline-definitions.ts';

/** The address of webhooks. */
export type FindBaseUrl = () => string;

/** Source: docs/interface.md §13.1, §13.3. */
export function toWirePipeline(
  { id, definition: defined, triggerId, nextRunAt, createdAt, updatedAt }: Pipeline,
  lastRun: PipelineRun | undefined,
  findBaseUrl: FindBaseUrl,
) {
  const { trigger, source } = defined;
  return {
    id,
    ...defined,
    source: maskSource(source),
    trigger:
      trigger.type === 'webhook'
        ? { ...trigger, id: triggerId, url: `${findBaseUrl()}/etl-triggers/webhook/${triggerId}` }
        : trigger,
    createdAt,
    updatedAt,
    ...(nextRunAt !== undefined && { nextRunAt }),
    lastRun: lastRun === undefined ? null : toLastRun(lastRun),
  };
}

function toLastRun({ task, startedBy }: PipelineRun) {
  const { id, taskStatus, startTime, finishTime } = toWireTask(task);
  return { taskId: id, taskStatus, startedBy, startTime, finishTime, counts: countsOf(task) };
}

export const toWireRun = ({ task, startedBy }: PipelineRun) => ({
  task: toWireTask(task),
  startedBy,
  counts: countsOf(task),
});

/** A run that ended before it wrote has counted only what it read. */
function countsOf({ result }: Task): RunCounts | null {
  if (result === undefined) return null;
  const { warnings: _, dropped: __, ...counts } = result as Partial<RunCounts> & Record<string, unknown>;
  return { ...NO_COUNTS, ...counts };
}

/** Source: docs/interface.md §4.9. */
export const toTriggered = (task: Task) => ({
  status: 'success' as const,
  message: 'Pipeline triggered' as const,
  task: toWireTask(task),
});
