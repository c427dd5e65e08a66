/** The door of runs: what starts a pipeline, and what a run does. A run is a task that reads in its own thread. */
export { type PipelineRunParts, PipelineRuns } from './pipeline-runs.ts';
export { createPipelineSchedule } from './pipeline-schedule.ts';
export { createPipelineTriggers } from './pipeline-triggers.ts';
export { createRunThreads, type RunThreadData, type RunThreads } from './run-client.ts';
export { runThreadOperations } from './run-thread.ts';
