/**
 * The door of definitions: the record of pipelines, their checks, their answers and their rows. Never reads a source.
 */

export { checkTried, fillSource } from './pipeline-check.ts';
export { makeTriggerId, PIPELINE_SECRETS, pipelineKind, sealPlainSources } from './pipeline-kind.ts';
export * from './pipeline-schemas.ts';
export * from './pipeline-store.ts';
