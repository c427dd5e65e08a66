import type { CallOptions, Transport } from './transport.ts';

/** Fetches product data from a source and updates the catalog with it. Source: docs/interface.md §13. */
export interface Pipeline {
  id: number;
  name: string;
  source: { type: 'http' | 'upload' | 'directory'; [member: string]: unknown };
  format: { type: string; [member: string]: unknown };
  mode: 'full' | 'incremental' | 'partial' | 'delete';
  trigger: { type: 'manual' | 'schedule' | 'webhook'; url?: string; [member: string]: unknown };
  [member: string]: unknown;
}

/** Source: docs/interface.md §13.1. */
export function createPipelines({ sendJson }: Transport) {
  const path = (projectId: number) => `/management/projects/${projectId}/pipelines`;
  return {
    list: ({ projectId, signal }: CallOptions & { readonly projectId: number }) =>
      sendJson<{ items: Pipeline[] }>({
        method: 'GET',
        path: path(projectId),
        ...(signal && { signal }),
      }),
    run: (projectId: number, pipelineId: number) =>
      sendJson<unknown>({ method: 'POST', path: `${path(projectId)}/${pipelineId}/run` }),
  };
}
