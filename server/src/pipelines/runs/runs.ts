/**
 * The door of runs: what starts a pipeline and what a run does. A run is a task; its reading happens on a thread of its own.
 */
export { PipelineRuns, type Preview } from './pipeline-runs.ts';
export { createPipelineTriggers } from './pipeline-triggers.ts';
export { createRunThreads, type RunThreadData, type RunThreads } from './run-client.ts';
export { runThreadOperations } from './run-thread.ts';
export { createPipelineSchedule } from './schedule.ts';
