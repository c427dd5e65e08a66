/**
 * The door of definitions: pipelines as they are stored, checked, listed and answered. Never reads a source.
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
export { toTriggered, toWireRun } from './pipeline-answers.ts';
export { checkTried, fillSecrets } from './pipeline-check.ts';
export { createPipelineChanges, createPipelineLists, openStored } from './pipeline-definitions.ts';
export { dropForgottenRuns, listOpenPieces } from './pipeline-history-store.ts';
export { type PipelineRouteParts, recordPipelineChange } from './pipeline-route-parts.ts';
export { findRun, hasOpenRun, insertRun, saveRead, saveStamp } from './pipeline-run-store.ts';
export { checkSchedule, findNextRun } from './pipeline-schedule.ts';
export {
  ListQuery,
  PipelineParams,
  RunPage,
  RunQuery,
  TriggeredAnswer,
  UploadQuery,
} from './pipeline-schemas.ts';
export { openSource, SEALED_SOURCES, sealPlainSources } from './pipeline-secrets.ts';
export {
  countTrigger,
  type FoundPipeline,
  findByTrigger,
  findPipeline,
  findWindow,
  listDue,
  moveSchedule,
  removePipelinesOf,
} from './pipeline-store.ts';
export type { SentPreview } from './preview-schemas.ts';
