import type { CallOptions } from './transport.ts';

export interface ProjectChoice extends CallOptions {
  /** Not needed for a key with access to exactly one project. */
  readonly projectId?: number | undefined;
}

/** @returns the query parameter, if a project was named */
export const choose = (projectId: number | undefined) => (projectId === undefined ? {} : { projectId });
