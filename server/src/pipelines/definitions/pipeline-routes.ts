import assert from 'node:assert/strict';
import type { FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import {
  DoneAnswer,
  done,
  IfMatch,
  type Once,
  ProjectParams,
  type Routes,
  readIfMatch,
  type Sent,
  type Server,
  sendMark,
  serve,
  serveOnce,
  whileCallerWaits,
} from '../../http/http.ts';
import type { Caller } from '../../kernel/caller.ts';
import { markOfPipeline } from './pipeline.ts';
import { toWirePipeline } from './pipeline-answers.ts';
import type { AlongsideChange, PipelineState } from './pipeline-definitions.ts';
import { type PipelineRouteParts, recordPipelineChange } from './pipeline-route-parts.ts';
import { ListQuery, PipelinePage, PipelineParams, SentPipeline, WirePipeline } from './pipeline-schemas.ts';
import type { PipelineKey } from './pipeline-store.ts';
import { SentPreview, WirePreview } from './preview-schemas.ts';

const config = { guard: 'management', access: 'manage' } as const;
/** A mapping may name 2,000 attributes; a list holds many of them. */
const takesDefinition = { ...config, maxBodyMib: 2 } as const;
/** 8 MiB as base64, and the definition. */
const takesFile = { ...config, maxBodyMib: 14, holds: { text: 14 * 1024 * 1024 } } as const;
const PATH = '/management/projects/:id/pipelines';
const about = { config, tags: ['Pipelines'], params: ProjectParams };
const aboutOne = {
  ...{ ...about, path: `${PATH}/:pipelineId`, params: PipelineParams },
  answer: { 200: WirePipeline },
};

/** Source: docs/interface.md §13. */
export const pipelineRoutes =
  (parts: PipelineRouteParts): Routes =>
  (server) => {
    serveCollection(server, parts);
    servePreview(server, parts);
    servePipeline(server, parts);
    serveChanges(server, parts);
  };

const toWire = ({ findBaseUrl }: PipelineRouteParts, { pipeline, lastRun }: PipelineState) =>
  toWirePipeline(pipeline, lastRun, findBaseUrl);

function serveCollection(server: Server, parts: PipelineRouteParts): void {
  const { pipelines, answerOnce } = parts;
  const list = {
    ...about,
    method: 'GET',
    path: PATH,
    summary: 'List the pipelines of a project',
    ...{ query: ListQuery, answer: { 200: PipelinePage } },
  } as const;
  serve(server, list, async ({ project, query }) => {
    const { items, nextCursor } = await pipelines.list(project.id, query);
    return { items: items.map((state) => toWire(parts, state)), nextCursor };
  });

  const create = {
    ...about,
    method: 'POST',
    path: PATH,
    config: takesDefinition,
    summary: 'Create a pipeline',
    ...{ body: SentPipeline, answer: { 201: WirePipeline }, answerOnce },
  } as const;
  serveOnce(server, create, ({ project, caller, body: sent }, once, reply) => {
    const make: Change['make'] = (alongside, signal) =>
      pipelines.create(project, { accountId: project.accountId, signal, sent }, alongside);
    return answerChange(parts, { caller, once, reply }, { action: 'created', make });
  });
}

function servePreview(server: Server, { pipelines }: PipelineRouteParts): void {
  const endpoint = {
    ...about,
    method: 'POST',
    path: `${PATH}/preview`,
    config: takesFile,
    summary: 'Try a definition on the first rows of its real source, without storing it',
    description: 'Without a mapping one is suggested from the names of the columns and what is in them.',
    ...{ body: SentPreview, answer: { 200: WirePreview } },
  } as const;
  serve(server, endpoint, ({ project, body }, reply) =>
    whileCallerWaits(reply, (signal) => pipelines.preview(project, body, signal)),
  );
}

function servePipeline(server: Server, parts: PipelineRouteParts): void {
  const { pipelines, answerOnce } = parts;
  const read = { ...aboutOne, method: 'GET', summary: 'Read a pipeline; the ETag is for If-Match' } as const;
  serve(server, read, async ({ project, params }, reply) => {
    const state = await pipelines.getState({ projectId: project.id, id: params.pipelineId });
    sendMark(reply, markOfPipeline(state.pipeline));
    return toWire(parts, state);
  });

  const remove = {
    ...aboutOne,
    method: 'DELETE',
    summary: 'Delete a pipeline that is not running',
    ...{ headers: IfMatch, answer: { 200: DoneAnswer }, answerOnce },
  } as const;
  serveOnce(server, remove, (request, once) => {
    const { project, params, caller } = request;
    return once(async (record) => {
      const key = { projectId: project.id, id: params.pipelineId };
      await pipelines.remove({ ...key, expected: readIfMatch(request) }, async (tx, pipeline) => {
        await recordPipelineChange(parts, { tx, caller, action: 'deleted', pipeline });
        await record(tx, done);
      });
      return done;
    });
  });
}

function serveChanges(server: Server, parts: PipelineRouteParts): void {
  const { pipelines, answerOnce } = parts;
  const replace = {
    ...aboutOne,
    method: 'PUT',
    config: takesDefinition,
    ...{ summary: 'Replace a pipeline', headers: IfMatch, body: SentPipeline, answerOnce },
  } as const;
  serveOnce(server, replace, (request, once, reply) => {
    const { project, caller, body: sent } = request;
    const key = { projectId: project.id, id: request.params.pipelineId };
    const expected = readIfMatch(request);
    const make: Change['make'] = (alongside, signal) =>
      pipelines.replace({ ...key, expected }, { accountId: project.accountId, signal, sent }, alongside);
    return answerChange(parts, { caller, once, reply }, { action: 'changed', key, make });
  });

  const renew = {
    ...aboutOne,
    method: 'POST',
    path: `${aboutOne.path}/trigger-id`,
    ...{ summary: 'Give the webhook another URL; the old one ends', answerOnce },
  } as const;
  serveOnce(server, renew, ({ project, params, caller }, once, reply) => {
    const key = { projectId: project.id, id: params.pipelineId };
    const make: Change['make'] = (alongside) => pipelines.renewTriggerId(key, alongside);
    return answerChange(parts, { caller, once, reply }, { action: 'trigger-id', key, make });
  });
}

type Answered = Sent<Static<typeof WirePipeline>>;

interface Change {
  readonly action: 'created' | 'changed' | 'trigger-id';
  /** Of the pipeline that is changed. */
  readonly key?: PipelineKey;
  readonly make: (alongside: AlongsideChange, signal: AbortSignal) => Promise<void>;
}

/** Makes a change once for each `Idempotency-Key`. @returns the pipeline as it is then */
function answerChange(
  parts: PipelineRouteParts,
  { caller, once, reply }: { caller: Caller; once: Once<Answered>; reply: FastifyReply },
  { action, key, make }: Change,
): Promise<Answered> {
  return whileCallerWaits(reply, async (signal) => {
    const answer = await once(async (record) => {
      const lastRun = key && (await parts.pipelines.getState(key)).lastRun;
      let changed: Answered | undefined;
      await make(async (tx, pipeline, before) => {
        changed = toWire(parts, { pipeline, lastRun });
        await recordPipelineChange(parts, { tx, caller, action, pipeline, before });
        await record(tx, changed);
      }, signal);
      assert(changed !== undefined);
      return changed;
    });
    sendMark(reply, markOfPipeline(answer));
    return answer;
  });
}
