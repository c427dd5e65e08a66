import type { CallOptions } from './transport.ts';

export interface ProjectChoice extends CallOptions {
  /** Not needed by a key that reaches exactly one project. */
  readonly projectId?: number | undefined;
}

/** @returns the query parameter, when a project was named */
export const choose = (projectId: number | undefined) => (projectId === undefined ? {} : { projectId });
