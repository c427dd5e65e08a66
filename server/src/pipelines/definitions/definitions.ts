/**
 * The door of definitions: the record of pipelines, their checks, their answers and their rows. Never reads a source.
 */

export {
  type BatchCounts,
  NO_COUNTS,
  type Pipeline,
  type PipelineDefinition,
  type ReadSummary,
  type RejectedRowPolicy,
  type RunCounts,
  type RunStart,
  type TriedDefinition,
  type UploadedFile,
} from './pipeline.ts';
export { checkTried, fillSource } from './pipeline-check.ts';
export { makeTriggerId, PIPELINE_SECRETS, pipelineKind, sealPlainSources } from './pipeline-kind.ts';
export {
  PipelineParams,
  RunPage,
  RunQuery,
  type SentPreview,
  TriggeredAnswer,
  toTriggered,
  toWireRun,
  UploadQuery,
} from './pipeline-schemas.ts';
export {
  countTrigger,
  findRun,
  findWindow,
  listOpenPieces,
  PIPELINES,
  RUNS,
  saveRead,
  saveStamp,
} from './pipeline-store.ts';
