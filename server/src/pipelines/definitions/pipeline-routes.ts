import { markOfDefined, type Shown } from '../../definitions/definitions.ts';
import { ProjectParams } from '../../http/answers/answers.ts';
import { whileCallerWaits } from '../../http/guards/guards.ts';
import {
  answerAs,
  inProject,
  type Routes,
  type RouteTools,
  serve,
  serveKind,
} from '../../http/server/server.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import type { Pipelines } from '../pipelines.ts';
import type { Pipeline } from './pipeline-schemas.ts';
import { SentPipeline, SentPreview, toWirePipeline, WirePipeline, WirePreview } from './pipeline-schemas.ts';

/** A mapping may name 2,000 attributes; a list holds many of them. */
const takesDefinition = { body: SentPipeline, config: { maxBodyMib: 2 } };
/** 8 MiB as base64, and the definition. */
const takesFile = { maxBodyMib: 14, holds: { text: 14 * 1024 * 1024 } } as const;
const PATH = '/management/projects/:id/pipelines';

/** Source: docs/interface.md §13. */
export const pipelineRoutes =
  ({ pipelines, answerOnce, findBaseUrl }: RouteTools & { readonly pipelines: Pipelines }): Routes =>
  (server) => {
    const kind = serveKind<Shown<Pipeline>, ChosenProject>(server, {
      ...{ ...inProject, path: PATH, idName: 'pipelineId', tags: ['Pipelines'], answerOnce },
      answer: answerAs(WirePipeline, (shown) => toWirePipeline(shown, findBaseUrl)),
      markOf: ({ resource }) => markOfDefined(resource),
      markOfAnswer: markOfDefined,
    });
    kind.list({ summary: 'List the pipelines of a project', list: pipelines.list });
    kind.create({ summary: 'Create a pipeline', ...takesDefinition, create: pipelines.create });
    serve(server, `POST ${PATH}/preview`, {
      config: { guard: 'management', access: 'manage', ...takesFile },
      ...{ tags: ['Pipelines'], params: ProjectParams },
      summary: 'Try a definition on the first rows of its real source, without storing it',
      description: 'Without a mapping one is suggested from the names of the columns and what is in them.',
      ...{ body: SentPreview, answer: { 200: WirePreview } },
      handle: ({ project, body }, reply) =>
        whileCallerWaits(reply, (signal) => pipelines.preview(project, body, signal)),
    });
    kind.read({ summary: 'Read a pipeline; the ETag is for If-Match', get: pipelines.getShown });
    kind.remove({ summary: 'Delete a pipeline that is not running', remove: pipelines.remove });
    kind.change({
      ...{ method: 'PUT', summary: 'Replace a pipeline', ...takesDefinition, change: pipelines.replace },
    });
    kind.change({
      ...{ method: 'POST', below: '/trigger-id' },
      ...{ summary: 'Give the webhook another URL; the old one ends', change: pipelines.renewTriggerId },
    });
  };
