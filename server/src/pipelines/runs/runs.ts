/** The door of runs: what starts a pipeline and what a run does. A run is a task that reads in a thread of its own. */
export {
  createPipelineRuns,
  createPipelineSchedule,
  createPipelineTriggers,
  type PipelineRunParts,
} from './pipeline-runs.ts';
export { createRunThreads, type RunThreadData, type RunThreads, runThreadOperations } from './run-client.ts';
