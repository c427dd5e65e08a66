/**
 * The door of definitions: the record of pipelines, their checks, their answers and their rows. Never reads a source.
 */

export * from './pipeline-kind.ts';
export * from './pipeline-schemas.ts';
export * from './pipeline-store.ts';
