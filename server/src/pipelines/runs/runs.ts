/**
 * The door of runs: what starts a pipeline and what a run does. A run is a task; its reading happens on a thread of its own.
 */
export { createPipelineRuns, type PipelineRunParts } from './pipeline-runs.ts';
export { createPipelineSchedule, createPipelineTriggers } from './pipeline-triggers.ts';
export { createRunThreads, type RunThreadData, type RunThreads, runThreadOperations } from './run-client.ts';
