import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import {
  type AnswerOnce,
  type BodyStream,
  ListQuery,
  type RecordAnswer,
  type Routes,
  type Server,
  serve,
  serveOnce,
} from '../../http/http.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { Task } from '../../tasks/tasks.ts';
import {
  type Pipeline,
  PipelineParams,
  RunPage,
  RunQuery,
  TriggeredAnswer,
  toTriggered,
  toWireRun,
  UploadQuery,
} from '../definitions/definitions.ts';
import type { Pipelines } from '../pipelines.ts';
import { readFileName, readSentType } from './upload-name.ts';

export interface RunRouteParts {
  readonly pipelines: Pipelines;
  readonly answerOnce: AnswerOnce;
  /** Of files that are sent in. */
  readonly sourceMaxMib: number;
}

/** Who may change products may also have a pipeline change them. Source: docs/interface.md §14.1. */
const runs = { guard: 'management', access: 'write' } as const;
const PATH = '/management/projects/:id/pipelines/:pipelineId';
const about = { tags: ['Pipelines'], params: PipelineParams };
/** Nothing parses it. */
const File = Type.Unsafe<BodyStream | undefined>({ type: 'string', format: 'binary' });

/** Source: docs/interface.md §13.2, §13.6. */
export const pipelineRunRoutes =
  (parts: RunRouteParts): Routes =>
  (server) => {
    serveRun(server, parts);
    serveUpload(server, parts);
    serveHistory(server, parts);
  };

function serveRun(server: Server, parts: RunRouteParts): void {
  const { pipelines, answerOnce } = parts;
  const endpoint = {
    ...about,
    method: 'POST',
    path: `${PATH}/run`,
    config: { ...runs, body: 'ignored' },
    summary: 'Start a run by hand',
    ...{ query: RunQuery, answer: { 200: TriggeredAnswer }, answerOnce },
  } as const;
  serveOnce(server, endpoint, async (request, once) => {
    const { project, params, query } = request;
    const pipeline = await pipelines.get(project, params.pipelineId);
    return once(async (record) => {
      const alongside = noteRun(parts, request, { pipeline, record });
      return toTriggered(await pipelines.run(pipeline, project, { isForced: query.force, alongside }));
    });
  });
}

function serveUpload(server: Server, parts: RunRouteParts): void {
  const { pipelines, answerOnce, sourceMaxMib } = parts;
  const endpoint = {
    ...about,
    method: 'POST',
    path: `${PATH}/upload`,
    config: { ...runs, body: 'stream', maxBodyMib: sourceMaxMib },
    summary: 'Send the file of an upload source in; it starts a run',
    description:
      'The body is the file itself, of any type, packed with gzip or zip or not, and not a form. The answer comes when it is safely stored.',
    consumes: ['application/octet-stream'],
    ...{ query: UploadQuery, body: File, answer: { 200: TriggeredAnswer }, answerOnce },
  } as const;
  serveOnce(server, endpoint, async (request, once) => {
    const { project, params, query, body } = request;
    const pipeline = await pipelines.get(project, params.pipelineId);
    const sent = { ...describeFile(request, query.name), chunks: body ?? Readable.from([]) };
    return pipelines.upload({ pipeline, project, sent }, (digest, start) => {
      request.bodyDigest = digest;
      return once(async (record) => toTriggered(await start(noteRun(parts, request, { pipeline, record }))));
    });
  });
}

function serveHistory(server: Server, { pipelines }: RunRouteParts): void {
  const endpoint = {
    ...about,
    method: 'GET',
    path: `${PATH}/runs`,
    config: { guard: 'management', access: 'manage' },
    summary: 'List the runs of a pipeline',
    ...{ query: ListQuery, answer: { 200: RunPage } },
  } as const;
  serve(server, endpoint, async ({ project, params, query }) => {
    const { items, nextCursor } = await pipelines.listRuns(project, params.pipelineId, query);
    return { items: items.map(toWireRun), nextCursor };
  });
}

/** @returns what is written with a run: who started it, and the answer */
function noteRun(
  { pipelines }: RunRouteParts,
  { caller }: FastifyRequest,
  { pipeline, record }: { pipeline: Pipeline; record: RecordAnswer<ReturnType<typeof toTriggered>> },
) {
  return async (tx: ControlTransaction, task: Task) => {
    await pipelines.record(tx, caller, { what: 'run', resource: pipeline });
    await record(tx, toTriggered(task));
  };
}

/** @throws request_invalid for a form, which is no file */
function describeFile(request: FastifyRequest, givenName: string | undefined) {
  const { mediaType, charset } = readSentType(request.sentType);
  if (mediaType === 'multipart/form-data') {
    const details = ['the body must be the file itself and not a form, as curl sends it with --data-binary'];
    throw new ServiceError('request_invalid', { details });
  }
  const name = readFileName(givenName, request.headers['content-disposition']);
  return { name, mediaType, charset, mayBeRepeated: request.headers['idempotency-key'] !== undefined };
}
