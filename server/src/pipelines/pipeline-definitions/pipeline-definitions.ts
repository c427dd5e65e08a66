/** The door of definitions: the record of pipelines, with their checks, answers and rows. It never reads a source. */

export { checkTried, fillSource, PIPELINE_SECRETS, pipelineKind, sealPlainSources } from './pipeline-kind.ts';
export {
  type BatchCounts,
  NO_COUNTS,
  type Pipeline,
  type PipelineDefinition,
  type Preview,
  type ReadSummary,
  type RejectedRowPolicy,
  type RunCounts,
  type RunStart,
  SentPreview,
  type TriedDefinition,
  TriggeredAnswer,
  toTriggered,
  type UploadedFile,
} from './pipeline-schemas.ts';
export { countTrigger, findRun, findWindow, PIPELINES, RUNS, saveRead, saveStamp } from './pipeline-store.ts';
