import type { FastifyRequest } from 'fastify';
import {
  type BodyStream,
  ErrorAnswer,
  type RecordAnswer,
  type Routes,
  type Server,
} from '../../http/http.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { Task } from '../../tasks/tasks.ts';
import type { Pipeline, PipelineRouteParts } from '../definitions/definitions.ts';
import {
  ListQuery,
  PipelineParams,
  RunPage,
  RunQuery,
  recordPipelineChange,
  TriggeredAnswer,
  toTriggered,
  toWireRun,
  UploadQuery,
} from '../definitions/definitions.ts';
import { readFileName, readSentType } from './upload-name.ts';

/** Who may change products may also have a pipeline change them. Source: docs/interface.md §14.1. */
const runs = { guard: 'management', access: 'write' } as const;
const failures = { '4xx': ErrorAnswer };
const tags = ['Pipelines'];
const PATH = '/management/projects/:id/pipelines/:pipelineId';

/** Source: docs/interface.md §13.2, §13.6. */
export const pipelineRunRoutes =
  (parts: PipelineRouteParts): Routes =>
  (server) => {
    serveRun(server, parts);
    serveUpload(server, parts);
    serveHistory(server, parts);
  };

function serveRun(server: Server, parts: PipelineRouteParts): void {
  const { pipelines, answerOnce } = parts;
  const schema = {
    tags,
    summary: 'Start a run by hand',
    params: PipelineParams,
    querystring: RunQuery,
    response: { 200: TriggeredAnswer, ...failures },
  };
  server.post(`${PATH}/run`, { config: { ...runs, body: 'ignored' }, schema }, async (request) => {
    const { project } = request;
    const pipeline = await pipelines.get({ projectId: project.id, id: request.params.pipelineId });
    return answerOnce(request, async (record) => {
      const alongside = noteRun(parts, request, { pipeline, record });
      const { force: isForced } = request.query;
      return toTriggered(await pipelines.run(pipeline, project, { isForced, alongside })) as never;
    });
  });
}

function serveUpload(server: Server, parts: PipelineRouteParts): void {
  const { pipelines, answerOnce, sourceMaxMib } = parts;
  const schema = {
    tags,
    summary: 'Send the file of an upload source in; it starts a run',
    description:
      'The body is the file itself, of any type, packed with gzip or zip or not, and not a form. The answer comes when it is safely stored.',
    params: PipelineParams,
    querystring: UploadQuery,
    consumes: ['application/octet-stream'],
    body: { type: 'string', format: 'binary' } as const,
    response: { 200: TriggeredAnswer, ...failures },
  };
  const config = { ...runs, body: 'stream', maxBodyMib: sourceMaxMib } as const;
  server.post(`${PATH}/upload`, { config, schema }, async (request) => {
    const { project } = request;
    const pipeline = await pipelines.get({ projectId: project.id, id: request.params.pipelineId });
    const sent = readFile(request, request.query.name);
    return pipelines.upload({ pipeline, project, sent }, (digest, start) => {
      request.bodyDigest = digest;
      return answerOnce(request, async (record) => {
        const note = noteRun(parts, request, { pipeline, record });
        return toTriggered(await start(note));
      });
    }) as never;
  });
}

function serveHistory(server: Server, { pipelines }: PipelineRouteParts): void {
  const schema = {
    tags,
    summary: 'List the runs of a pipeline',
    params: PipelineParams,
    querystring: ListQuery,
    response: { 200: RunPage, ...failures },
  };
  const config = { guard: 'management', access: 'manage' } as const;
  server.get(`${PATH}/runs`, { config, schema }, async (request) => {
    const { project } = request;
    const key = { projectId: project.id, id: request.params.pipelineId };
    const { items, nextCursor } = await pipelines.listRuns(key, request.query);
    return { items: items.map(toWireRun), nextCursor } as never;
  });
}

/** @returns what is written with a run: who started it, and the answer */
function noteRun(
  parts: PipelineRouteParts,
  { caller }: FastifyRequest,
  { pipeline, record }: { pipeline: Pipeline; record: RecordAnswer },
) {
  return async (tx: ControlTransaction, task: Task) => {
    await recordPipelineChange(parts, { tx, caller, action: 'run', pipeline });
    await record(tx, toTriggered(task));
  };
}

/** @throws request_invalid for a form, which is no file */
function readFile(request: FastifyRequest, givenName: string | undefined) {
  const { mediaType, charset } = readSentType(request.sentType);
  if (mediaType === 'multipart/form-data') {
    const details = ['the body must be the file itself and not a form, as curl sends it with --data-binary'];
    throw new ServiceError('request_invalid', { details });
  }
  const name = readFileName(givenName, request.headers['content-disposition']);
  const mayBeRepeated = request.headers['idempotency-key'] !== undefined;
  return { name, mediaType, charset, mayBeRepeated, chunks: (request.body ?? []) as BodyStream };
}
