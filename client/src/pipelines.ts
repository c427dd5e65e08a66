import { type Page, paging, readTagged } from './page.ts';
import type { AnswerOf, CallOptions, Transport } from './transport.ts';
import type { Pipeline, PipelineDefinition, PipelineToTry } from './wire.ts';

/** Names the pipeline. */
export interface PipelinePlace {
  readonly projectId: number;
  readonly pipelineId: number;
}

const toPath = ({ projectId, pipelineId }: PipelinePlace) => ({ id: projectId, pipelineId });

/** Pipelines, which update the catalog without a client. Source: docs/interface §13. */
export function createPipelines(transport: Transport) {
  return { ...createDefinitions(transport), ...createRuns(transport) };
}

function createDefinitions({ call, request }: Transport) {
  return {
    list: (projectId: number, page: Page = {}) =>
      call('getManagementProjectsByIdPipelines', { path: { id: projectId }, query: paging(page) }, page),

    get: (place: PipelinePlace, options: CallOptions = {}) => {
      const path = `/management/projects/${place.projectId}/pipelines/${place.pipelineId}`;
      return readTagged<Pipeline>({ request }, path, options);
    },

    create: (projectId: number, definition: PipelineDefinition, options: CallOptions = {}) =>
      call('postManagementProjectsByIdPipelines', { path: { id: projectId }, body: definition }, options),

    /** Replaces a definition. Members that the service sets are ignored. */
    put: (place: PipelinePlace, definition: PipelineDefinition, options: CallOptions = {}) =>
      call(
        'putManagementProjectsByIdPipelinesByPipelineId',
        { path: toPath(place), body: definition },
        options,
      ),

    delete: (place: PipelinePlace, options: CallOptions = {}) =>
      call('deleteManagementProjectsByIdPipelinesByPipelineId', { path: toPath(place) }, options),

    /** Creates a new URL for the webhook. The old URL stops working. */
    renewTriggerId: (place: PipelinePlace, options: CallOptions = {}) =>
      call('postManagementProjectsByIdPipelinesByPipelineIdTriggerId', { path: toPath(place) }, options),

    /** Returns the first rows of the real source and the products that they make. Stores nothing. */
    preview: (projectId: number, tried: PipelineToTry, options: CallOptions = {}) =>
      call('postManagementProjectsByIdPipelinesPreview', { path: { id: projectId }, body: tried }, options),
  };
}

function createRuns({ call, sendJson }: Transport) {
  return {
    /** `force`: reads the source even if it has not changed since the last run. */
    run: async (
      place: PipelinePlace,
      { force, ...options }: CallOptions & { readonly force?: boolean } = {},
    ) => {
      const input = { path: toPath(place), query: force === undefined ? {} : { force } };
      return (await call('postManagementProjectsByIdPipelinesByPipelineIdRun', input, options)).task;
    },

    /** Uploads the file of an upload source unchanged, and starts a run. */
    upload: async (
      place: PipelinePlace,
      file: Blob,
      options: CallOptions & { readonly name?: string } = {},
    ) => {
      const { name, ...rest } = options;
      const { task } = await sendJson<AnswerOf<'postManagementProjectsByIdPipelinesByPipelineIdUpload'>>({
        method: 'POST',
        path: `/management/projects/${place.projectId}/pipelines/${place.pipelineId}/upload`,
        query: { name },
        body: file,
        ...rest,
      });
      return task;
    },

    /** The runs, newest first. */
    runs: (place: PipelinePlace, page: Page = {}) =>
      call(
        'getManagementProjectsByIdPipelinesByPipelineIdRuns',
        { path: toPath(place), query: paging(page) },
        page,
      ),

    /** Calls the webhook like another system, with an account key. Source: docs/interface §4.9. */
    trigger: async (triggerId: string, options: CallOptions = {}) =>
      (await call('postEtlTriggersWebhookByTriggerId', { path: { triggerId } }, options)).task,
  };
}
