import { Type } from 'typebox';
import { type AnswerOnce, ListQuery } from '../../http/answers/answers.ts';
import { whileCallerWaits } from '../../http/guards/guards.ts';
import { type Routes, type Server, serve, serveOnce } from '../../http/server/server.ts';
import type { Channels } from '../channels.ts';
import {
  BuildAnswer,
  BuildPage,
  ChannelParams,
  SentPreview,
  toStartedBuild,
  toWireBuild,
  WirePreview,
} from '../definitions/definitions.ts';
import type { FeedPreview } from './build-thread.ts';

export interface BuildRouteParts {
  readonly channels: Channels;
  readonly answerOnce: AnswerOnce;
}

const PATH = '/management/projects/:id/channels';
const about = { tags: ['Channels'], params: ChannelParams };
const question = { guard: 'management', access: 'manage', maxBodyMib: 2, role: 'viewer' } as const;

/** Source: docs/interface.md §16.3, §16.5. */
export const channelBuildRoutes =
  (parts: BuildRouteParts): Routes =>
  (server) => {
    serveBuild(server, parts);
    serveHistory(server, parts);
    servePreviews(server, parts);
  };

function serveBuild(server: Server, { channels, answerOnce }: BuildRouteParts): void {
  const endpoint = {
    ...about,
    method: 'POST',
    path: `${PATH}/:channelId/build`,
    // Who may change products may also have them go out. Source: docs/interface.md §14.1.
    config: { guard: 'management', access: 'write' },
    summary: 'Build a channel now, and publish it',
    ...{ answer: { 200: BuildAnswer }, answerOnce },
  } as const;
  serveOnce(server, endpoint, async (request, once) => {
    const { project, params, caller } = request;
    const channel = await channels.get(project, params.channelId);
    return once(async (record) => {
      const task = await channels.build(channel, project, async (tx, accepted) => {
        await channels.record(tx, caller, { what: 'built', resource: channel });
        await record(tx, toStartedBuild(accepted));
      });
      return toStartedBuild(task);
    });
  });
}

function serveHistory(server: Server, { channels }: BuildRouteParts): void {
  const endpoint = {
    ...about,
    method: 'GET',
    path: `${PATH}/:channelId/builds`,
    config: { guard: 'management', access: 'manage' },
    summary: 'List the builds of a channel',
    ...{ query: ListQuery, answer: { 200: BuildPage } },
  } as const;
  serve(server, endpoint, async ({ project, params, query }) => {
    const { items, nextCursor } = await channels.listRuns(project, params.channelId, query);
    return { items: items.map(toWireBuild), nextCursor };
  });
}

function servePreviews(server: Server, { channels }: BuildRouteParts): void {
  const body = Type.Union([SentPreview, Type.Null()]);
  const description = 'Stores nothing: the first rows, and what products lack.';
  const stored = {
    ...about,
    method: 'POST',
    path: `${PATH}/:channelId/preview`,
    config: question,
    ...{ summary: 'Preview a channel, as it is stored or as it is sent', description },
    ...{ body: Type.Optional(body), answer: { 200: WirePreview } },
  } as const;
  serve(server, stored, ({ project, params, body: sent }, reply) =>
    whileCallerWaits(reply, async (signal) => {
      const channel = await channels.get(project, params.channelId);
      return asAnswer(await channels.preview(project, sent ?? undefined, { channel, signal }));
    }),
  );

  const fresh = {
    method: 'POST',
    path: `${PATH}/preview`,
    tags: ['Channels'],
    params: Type.Object({ id: ChannelParams.properties.id }),
    config: question,
    ...{ summary: 'Preview a definition', description, body: SentPreview, answer: { 200: WirePreview } },
  } as const;
  serve(server, fresh, ({ project, body: sent }, reply) =>
    whileCallerWaits(reply, async (signal) =>
      asAnswer(await channels.preview(project, sent, { channel: undefined, signal })),
    ),
  );
}

/** Rows are made in a thread, whose answer has no type here. */
const asAnswer = (preview: FeedPreview) => preview as never;
