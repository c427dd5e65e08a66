import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  ErrorAnswer,
  IfMatch,
  ProjectParams,
  type Routes,
  readIfMatch,
  type Server,
  sendMark,
  signalOf,
} from '../../http/http.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import { markOfPipeline, type Pipeline } from './pipeline.ts';
import { toWirePipeline } from './pipeline-answers.ts';
import type { AlongsideChange, PipelineState } from './pipeline-definitions.ts';
import { type PipelineRouteParts, recordPipelineChange } from './pipeline-route-parts.ts';
import {
  DoneAnswer,
  ListQuery,
  PipelinePage,
  PipelineParams,
  SentPipeline,
  SentPreview,
  WirePipeline,
  WirePreview,
} from './pipeline-schemas.ts';

const config = { guard: 'management', access: 'manage' } as const;
/** A mapping may name 2,000 attributes; a list holds many of them. */
const takesDefinition = { ...config, maxBodyMib: 2 } as const;
/** 8 MiB as base64, and the definition. */
const takesFile = { ...config, maxBodyMib: 16, holds: { text: 16 * 1024 * 1024 } } as const;
const failures = { '4xx': ErrorAnswer };
const tags = ['Pipelines'];
const done = { status: 'success' } as const;
const PATH = '/management/projects/:id/pipelines';

/** Source: docs/interface.md §13. */
export const pipelineRoutes =
  (parts: PipelineRouteParts): Routes =>
  (server) => {
    serveCollection(server, parts);
    servePreview(server, parts);
    servePipeline(server, parts);
    serveChanges(server, parts);
  };

/** Of an answer, which may have been stored. */
const markOfWire = (answer: object) => markOfPipeline(answer as Pick<Pipeline, 'id' | 'updatedAt'>);

const askerOf = (request: FastifyRequest, { accountId }: ChosenProject) => ({
  accountId,
  signal: signalOf(request),
});

const toWire = ({ findBaseUrl }: PipelineRouteParts, { pipeline, lastRun }: PipelineState) =>
  toWirePipeline(pipeline, lastRun, findBaseUrl);

function serveCollection(server: Server, parts: PipelineRouteParts): void {
  const { pipelines, answerOnce } = parts;
  const listSchema = {
    tags,
    summary: 'List the pipelines of a project',
    params: ProjectParams,
    querystring: ListQuery,
    response: { 200: PipelinePage, ...failures },
  };
  server.get(PATH, { config, schema: listSchema }, async (request) => {
    const { project } = request;
    const { items, nextCursor } = await pipelines.list(project.id, request.query);
    return { items: items.map((state) => toWire(parts, state)), nextCursor } as never;
  });

  const createSchema = {
    tags,
    summary: 'Create a pipeline',
    params: ProjectParams,
    body: SentPipeline,
    response: { 201: WirePipeline, ...failures },
  };
  server.post(PATH, { config: takesDefinition, schema: createSchema }, async (request, reply) => {
    const { project } = request;
    const answer = await answerOnce(request, async (record) => {
      let created: object = {};
      const sent = { ...askerOf(request, project), sent: request.body as SentPipeline };
      await pipelines.create(project, sent, async (tx, pipeline) => {
        created = toWire(parts, { pipeline, lastRun: undefined });
        await recordPipelineChange(parts, { tx, caller: request.caller, action: 'created', pipeline });
        await record(tx, created);
      });
      return created;
    });
    sendMark(reply, markOfWire(answer));
    return reply.code(201).send(answer as never);
  });
}

function servePreview(server: Server, { pipelines }: PipelineRouteParts): void {
  const schema = {
    tags,
    summary: 'Try a definition on the first rows of its real source, without storing it',
    description: 'Without a mapping one is suggested from the names of the columns and what is in them.',
    params: ProjectParams,
    body: SentPreview,
    response: { 200: WirePreview, ...failures },
  };
  server.post(`${PATH}/preview`, { config: takesFile, schema }, async (request) => {
    const { project } = request;
    return (await pipelines.preview(project, request.body as SentPreview, signalOf(request))) as never;
  });
}

function servePipeline(server: Server, parts: PipelineRouteParts): void {
  const { pipelines, answerOnce } = parts;
  const path = `${PATH}/:pipelineId`;
  const schema = { tags, params: PipelineParams, response: { 200: WirePipeline, ...failures } };
  const readSchema = { ...schema, summary: 'Read a pipeline; the ETag is for If-Match' };
  server.get(path, { config, schema: readSchema }, async (request, reply) => {
    const { project } = request;
    const key = { projectId: project.id, id: request.params.pipelineId };
    const state = await pipelines.getState(key);
    sendMark(reply, markOfPipeline(state.pipeline));
    return toWire(parts, state) as never;
  });

  server.delete(
    path,
    {
      config,
      schema: {
        ...schema,
        summary: 'Delete a pipeline that is not running',
        headers: IfMatch,
        response: { 200: DoneAnswer, ...failures },
      },
    },
    async (request) => {
      const { project } = request;
      return answerOnce(request, async (record) => {
        const key = { projectId: project.id, id: request.params.pipelineId };
        await pipelines.remove({ ...key, expected: readIfMatch(request) }, async (tx, pipeline) => {
          await recordPipelineChange(parts, { tx, caller: request.caller, action: 'deleted', pipeline });
          await record(tx, done);
        });
        return done;
      });
    },
  );
}

function serveChanges(server: Server, parts: PipelineRouteParts): void {
  const { pipelines, answerOnce } = parts;
  const path = `${PATH}/:pipelineId`;
  const schema = { tags, params: PipelineParams, response: { 200: WirePipeline, ...failures } };

  /** Changes a pipeline once for each Idempotency-Key. @returns it as it is then */
  async function answerChange(
    request: FastifyRequest & { params: { pipelineId: number; id: number } },
    reply: FastifyReply,
    change: {
      action: 'changed' | 'trigger-id';
      make: (
        key: { projectId: number; id: number },
        alongside: AlongsideChange,
        project: ChosenProject,
      ) => Promise<void>;
    },
  ) {
    const { project } = request;
    const key = { projectId: project.id, id: request.params.pipelineId };
    const answer = await answerOnce(request, async (record) => {
      const { lastRun } = await pipelines.getState(key);
      let changed: object = {};
      const alongside: AlongsideChange = async (tx, pipeline, before) => {
        changed = toWire(parts, { pipeline, lastRun });
        await recordPipelineChange(parts, {
          tx,
          caller: request.caller,
          action: change.action,
          pipeline,
          before,
        });
        await record(tx, changed);
      };
      await change.make(key, alongside, project);
      return changed;
    });
    sendMark(reply, markOfWire(answer));
    return answer;
  }

  const putSchema = { ...schema, summary: 'Replace a pipeline', headers: IfMatch, body: SentPipeline };
  server.put(path, { config: takesDefinition, schema: putSchema }, (request, reply) => {
    const sent = request.body as SentPipeline;
    const expected = readIfMatch(request);
    return answerChange(request as never, reply as never, {
      action: 'changed',
      make: (key, alongside, project) =>
        pipelines.replace({ ...key, expected }, { ...askerOf(request, project), sent }, alongside),
    }) as never;
  });

  const renewSchema = { ...schema, summary: 'Give the webhook another URL; the old one ends' };
  server.post(
    `${path}/trigger-id`,
    { config, schema: renewSchema },
    (request, reply) =>
      answerChange(request as never, reply as never, {
        action: 'trigger-id',
        make: pipelines.renewTriggerId,
      }) as never,
  );
}
