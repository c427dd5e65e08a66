/**
 * The door of definitions: the record of pipelines, their checks, their answers and their rows. Never reads a source.
 */

export { checkTried, fillSource } from './pipeline-check.ts';
export { makeTriggerId, PIPELINE_SECRETS, pipelineKind, sealPlainSources } from './pipeline-kind.ts';
export {
  type BatchCounts,
  NO_COUNTS,
  type Pipeline,
  type PipelineDefinition,
  PipelineParams,
  type Preview,
  type ReadSummary,
  type RejectedRowPolicy,
  type RunCounts,
  RunPage,
  RunQuery,
  type RunStart,
  SentPreview,
  type TriedDefinition,
  TriggeredAnswer,
  toTriggered,
  toWireRun,
  type UploadedFile,
  UploadQuery,
} from './pipeline-schemas.ts';
export {
  countTrigger,
  findRun,
  findWindow,
  PIPELINES,
  RUNS,
  saveRead,
  saveStamp,
} from './pipeline-store.ts';
