/** The door of definitions: the record of pipelines, their checks, answers and rows. Never reads a source. */

export * from './pipeline-kind.ts';
export * from './pipeline-schemas.ts';
export * from './pipeline-store.ts';
