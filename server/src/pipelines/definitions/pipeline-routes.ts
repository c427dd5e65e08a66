import {
  answerAs,
  inProject,
  type Served,
  serveChange,
  serveCollection,
  serveRead,
  serveRemoval,
} from '../../definitions/definition-routes.ts';
import { markOfDefined, type Shown } from '../../definitions/definitions.ts';
import { type AnswerOnce, ProjectParams } from '../../http/answers/answers.ts';
import { whileCallerWaits } from '../../http/guards/guards.ts';
import { type Routes, type Server, serve } from '../../http/server/server.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import type { Pipelines } from '../pipelines.ts';
import type { Pipeline } from './pipeline.ts';
import { SentPipeline, SentPreview, toWirePipeline, WirePipeline, WirePreview } from './pipeline-schemas.ts';

/** What the routes of pipelines need. */
export interface PipelineRouteParts {
  readonly pipelines: Pipelines;
  readonly answerOnce: AnswerOnce;
  /** Of files that are sent in. */
  readonly sourceMaxMib: number;
  /** The address of webhooks. */
  readonly findBaseUrl: () => string;
}

/** A mapping may name 2,000 attributes; a list holds many of them. */
const takesDefinition = { body: SentPipeline, maxBodyMib: 2 } as const;
const PATH = '/management/projects/:id/pipelines';

/** Source: docs/interface.md §13. */
export const pipelineRoutes =
  ({ pipelines, answerOnce, findBaseUrl }: PipelineRouteParts): Routes =>
  (server) => {
    const served: Served<Shown<Pipeline>, ChosenProject> = {
      ...{ ...inProject, path: PATH, idName: 'pipelineId', tags: ['Pipelines'], answerOnce },
      answer: answerAs(WirePipeline, (shown) => toWirePipeline(shown, findBaseUrl)),
      markOf: ({ resource }) => markOfDefined(resource),
      markOfAnswer: markOfDefined,
    };
    serveCollection(server, served, {
      list: { summary: 'List the pipelines of a project', list: pipelines.list },
      create: { summary: 'Create a pipeline', ...takesDefinition, create: pipelines.create },
    });
    servePreview(server, pipelines);
    serveRead(server, served, {
      ...{ summary: 'Read a pipeline; the ETag is for If-Match', get: pipelines.getShown },
    });
    serveRemoval(server, served, {
      summary: 'Delete a pipeline that is not running',
      remove: pipelines.remove,
    });
    serveChange(server, served, {
      ...{ method: 'PUT', summary: 'Replace a pipeline', ...takesDefinition, change: pipelines.replace },
    });
    serveChange(server, served, {
      ...{ method: 'POST', below: '/trigger-id' },
      ...{ summary: 'Give the webhook another URL; the old one ends', change: pipelines.renewTriggerId },
    });
  };

/** 8 MiB as base64, and the definition. */
const takesFile = { maxBodyMib: 14, holds: { text: 14 * 1024 * 1024 } } as const;

function servePreview(server: Server, pipelines: Pipelines): void {
  const endpoint = {
    method: 'POST',
    path: `${PATH}/preview`,
    config: { guard: 'management', access: 'manage', ...takesFile },
    ...{ tags: ['Pipelines'], params: ProjectParams },
    summary: 'Try a definition on the first rows of its real source, without storing it',
    description: 'Without a mapping one is suggested from the names of the columns and what is in them.',
    ...{ body: SentPreview, answer: { 200: WirePreview } },
  } as const;
  serve(server, endpoint, ({ project, body }, reply) =>
    whileCallerWaits(reply, (signal) => pipelines.preview(project, body, signal)),
  );
}
