import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { markOfDefined, type Shown } from '../../definitions/definitions.ts';
import { ListQuery, ProjectParams, type RecordAnswer } from '../../http/answers/answers.ts';
import { whileCallerWaits } from '../../http/guards/guards.ts';
import {
  answerAs,
  type BodyStream,
  inProject,
  type Routes,
  type RouteTools,
  type Server,
  serve,
  serveKind,
} from '../../http/server/server.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { ControlTransaction } from '../../storage/storage.ts';
import type { Task } from '../../tasks/tasks.ts';
import type { Pipelines } from '../pipelines.ts';
import { readCharset } from '../sources/sources.ts';
import {
  type Pipeline,
  PipelineParams,
  RunPage,
  RunQuery,
  SentPipeline,
  SentPreview,
  TriggeredAnswer,
  toTriggered,
  toWirePipeline,
  toWireRun,
  UploadQuery,
  WirePipeline,
  WirePreview,
} from './pipeline-schemas.ts';
import { readFileName } from './upload-name.ts';

/** A mapping may name 2,000 attributes, and a list contains many mappings. */
const takesDefinition = { body: SentPipeline, config: { maxBodyMib: 2 } };
/** 8 MiB as base64, and the definition. */
const takesFile = { maxBodyMib: 14, holds: { text: 14 * 1024 * 1024 } } as const;
const PATH = '/management/projects/:id/pipelines';
/** A caller that may change products may also run a pipeline that changes them. Source: docs/interface §14.1. */
const runs = { guard: 'management', access: 'write' } as const;
const aboutOne = { tags: ['Pipelines'], params: PipelineParams };

type PipelineRouteParts = RouteTools & { readonly pipelines: Pipelines };

/** Source: docs/interface §13. */
export const pipelineRoutes =
  (parts: PipelineRouteParts): Routes =>
  (server) => {
    servePipelines(server, parts);
    serveRun(server, parts);
    serveUpload(server, parts);
    serveRuns(server, parts);
  };

function servePipelines(server: Server, { pipelines, answerOnce, findBaseUrl }: PipelineRouteParts): void {
  const kind = serveKind<Shown<Pipeline>, ChosenProject>(server, {
    ...inProject,
    path: PATH,
    idName: 'pipelineId',
    tags: ['Pipelines'],
    answerOnce,
    answer: answerAs(WirePipeline, (shown) => toWirePipeline(shown, findBaseUrl)),
    markOf: ({ resource }) => markOfDefined(resource),
    markOfAnswer: markOfDefined,
  });
  kind.list({ summary: 'List the pipelines of a project', list: pipelines.list });
  kind.create({ summary: 'Create a pipeline', ...takesDefinition, create: pipelines.create });
  servePreview(server, pipelines);
  kind.read({ summary: 'Read a pipeline; the ETag is for If-Match', get: pipelines.getShown });
  kind.remove({ summary: 'Delete a pipeline that is not running', remove: pipelines.remove });
  kind.change({
    method: 'PUT',
    summary: 'Replace a pipeline',
    ...takesDefinition,
    change: pipelines.replace,
  });
  kind.change({
    method: 'POST',
    below: '/trigger-id',
    summary: 'Give the webhook another URL; the old URL stops working',
    change: pipelines.renewTriggerId,
  });
}

function servePreview(server: Server, pipelines: Pipelines): void {
  serve(server, `POST ${PATH}/preview`, {
    config: { guard: 'management', access: 'manage', ...takesFile },
    tags: ['Pipelines'],
    params: ProjectParams,
    summary: 'Try a definition on the first rows of its real source, without storing it',
    description:
      'Without a mapping, the answer suggests one from the names of the columns and from their contents.',
    body: SentPreview,
    answer: { 200: WirePreview },
    handle: ({ project, body }, reply) =>
      whileCallerWaits(reply, (signal) => pipelines.preview(project, body, signal)),
  });
}

function serveRun(server: Server, { pipelines, answerOnce }: PipelineRouteParts): void {
  serve(server, `POST ${PATH}/:pipelineId/run`, {
    ...aboutOne,
    config: { ...runs, body: 'ignored', isOnce: true },
    summary: 'Start a run by hand',
    query: RunQuery,
    answer: { 200: TriggeredAnswer },
    async handle(request) {
      const { project, params, query } = request;
      const pipeline = await pipelines.get(project, params.pipelineId);
      return answerOnce(request, async (record) => {
        const alongside = noteRun(pipelines, request, { pipeline, record });
        const run = await pipelines.run(pipeline, project, { isForced: query.force, alongside });
        return toTriggered(run);
      });
    },
  });
}

function serveUpload(server: Server, { pipelines, answerOnce, sourceMaxMib }: PipelineRouteParts): void {
  serve(server, `POST ${PATH}/:pipelineId/upload`, {
    ...aboutOne,
    config: { ...runs, body: 'stream', maxBodyMib: sourceMaxMib, isOnce: true },
    summary: 'Upload the file of an upload source, which starts a run',
    description:
      'The body is the file itself, not a form. It may have any type, and may be packed with gzip or zip. The answer comes when the file is durably stored.',
    consumes: ['application/octet-stream'],
    query: UploadQuery,
    body: Type.Unsafe<BodyStream | undefined>({ type: 'string', format: 'binary' }),
    answer: { 200: TriggeredAnswer },
    async handle(request) {
      const { project, params, query, body } = request;
      const pipeline = await pipelines.get(project, params.pipelineId);
      const sent = { ...describeFile(request, query.name), chunks: body ?? Readable.from([]) };
      return pipelines.upload({ pipeline, project, sent }, (digest, start) => {
        request.bodyDigest = digest;
        return answerOnce(request, async (record) =>
          toTriggered(await start(noteRun(pipelines, request, { pipeline, record }))),
        );
      });
    },
  });
}

function serveRuns(server: Server, { pipelines }: PipelineRouteParts): void {
  serve(server, `GET ${PATH}/:pipelineId/runs`, {
    ...aboutOne,
    config: { guard: 'management', access: 'manage' },
    summary: 'List the runs of a pipeline',
    query: ListQuery,
    answer: { 200: RunPage },
    async handle({ project, params, query }) {
      const { items, nextCursor } = await pipelines.listRuns(project, params.pipelineId, query);
      return { items: items.map(toWireRun), nextCursor };
    },
  });
}

/** @returns the function that stores with a run who started it, and the answer */
function noteRun(
  pipelines: Pipelines,
  { caller }: FastifyRequest,
  { pipeline, record }: { pipeline: Pipeline; record: RecordAnswer<ReturnType<typeof toTriggered>> },
) {
  return async (tx: ControlTransaction, task: Task) => {
    await pipelines.record(tx, caller, { what: 'run', resource: pipeline });
    await record(tx, toTriggered(task));
  };
}

/** @throws request_invalid for a form, because a form is not a file */
function describeFile({ sentType, headers }: FastifyRequest, givenName: string | undefined) {
  if (/^\s*multipart\/form-data\s*(;|$)/i.test(sentType ?? '')) {
    const detail = 'the body must be the file itself and not a form; curl sends it with --data-binary';
    throw new ServiceError('request_invalid', detail);
  }
  const name = readFileName(givenName, headers['content-disposition']);
  return { name, charset: readCharset(sentType), mayBeRepeated: headers['idempotency-key'] !== undefined };
}
