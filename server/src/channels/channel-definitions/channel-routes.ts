import { Type } from 'typebox';
import { markOfDefined, type Shown } from '../../definitions/definitions.ts';
import { ListQuery, orNull } from '../../http/answers/answers.ts';
import { whileCallerWaits } from '../../http/guards/guards.ts';
import {
  answerAs,
  inProject,
  type Routes,
  type RouteTools,
  type Server,
  sendJson,
  serve,
  serveKind,
  serveRaw,
} from '../../http/server/server.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import type { Channels } from '../channels.ts';
import {
  BuildAnswer,
  BuildPage,
  type Channel,
  ChannelParams,
  SentChannel,
  SentPreview,
  type Snapshot,
  toStartedBuild,
  toWireBuild,
  toWireChannel,
  WireChannel,
  WirePreview,
} from './channel-schemas.ts';

const PATH = '/management/projects/:id/channels';
const about = { tags: ['Channels'], params: ChannelParams };
const question = { guard: 'management', access: 'manage', maxBodyMib: 2, role: 'viewer' } as const;

/** A mapping may name 2,000 fields, and a filter may contain many identifiers. */
const takesDefinition = { body: SentChannel, config: { maxBodyMib: 2 } };

type ChannelRouteParts = RouteTools & { readonly channels: Channels };

/** Source: docs/interface §16. */
export const channelRoutes =
  (parts: ChannelRouteParts): Routes =>
  (server) => {
    serveChannels(server, parts);
    serveBuilds(server, parts);
    servePreviews(server, parts);
  };

function serveChannels(server: Server, { channels, answerOnce, findBaseUrl }: ChannelRouteParts): void {
  const kind = serveKind<Shown<Channel, Snapshot>, ChosenProject>(server, {
    ...inProject,
    path: PATH,
    idName: 'channelId',
    tags: ['Channels'],
    answerOnce,
    answer: answerAs(WireChannel, (shown) => toWireChannel(shown, findBaseUrl)),
    markOf: ({ resource }) => markOfDefined(resource),
    markOfAnswer: markOfDefined,
  });
  kind.list({ summary: 'List the channels of a project', list: channels.list });
  kind.create({ summary: 'Create a channel', ...takesDefinition, create: channels.create });
  kind.read({ summary: 'Read a channel; the ETag is for If-Match', get: channels.getShown });
  kind.remove({
    summary: 'Delete a channel that is not being built, and its published files',
    remove: channels.remove,
  });
  kind.change({
    method: 'PUT',
    summary: 'Replace a channel',
    ...takesDefinition,
    change: channels.replace,
  });
  kind.change({
    method: 'POST',
    below: '/rotate-url',
    summary: 'Give the published files another address; the old address stops working',
    change: channels.rotateUrl,
  });
}

function serveBuilds(server: Server, { channels, answerOnce }: ChannelRouteParts): void {
  serve(server, `POST ${PATH}/:channelId/build`, {
    ...about,
    // A caller that may change products may also publish them. Source: docs/interface §14.1.
    config: { guard: 'management', access: 'write', isOnce: true },
    summary: 'Build a channel now, and publish it',
    answer: { 200: BuildAnswer },
    async handle(request) {
      const { project, params, caller } = request;
      const channel = await channels.get(project, params.channelId);
      return answerOnce(request, async (record) => {
        const task = await channels.build(channel, project, async (tx, accepted) => {
          await channels.record(tx, caller, { what: 'built', resource: channel });
          await record(tx, toStartedBuild(accepted));
        });
        return toStartedBuild(task);
      });
    },
  });
  serve(server, `GET ${PATH}/:channelId/builds`, {
    ...about,
    config: { guard: 'management', access: 'manage' },
    summary: 'List the builds of a channel',
    query: ListQuery,
    answer: { 200: BuildPage },
    async handle({ project, params, query }) {
      const { items, nextCursor } = await channels.listRuns(project, params.channelId, query);
      return { items: items.map(toWireBuild), nextCursor };
    },
  });
}

const previewed = {
  config: question,
  description: 'Stores nothing. The answer has the first rows, and the required fields that products lack.',
  why: 'written by the thread of previews',
  answer: { 200: WirePreview },
} as const;

function servePreviews(server: Server, { channels }: ChannelRouteParts): void {
  serveRaw(server, `POST ${PATH}/:channelId/preview`, {
    ...about,
    ...previewed,
    summary: 'Preview the stored channel, or a definition that is sent',
    body: Type.Optional(orNull(SentPreview)),
    handle: ({ project, params, body: sent }, reply) =>
      whileCallerWaits(reply, async (signal) => {
        const channel = await channels.get(project, params.channelId);
        return sendJson(reply, await channels.preview(project, sent ?? undefined, { channel, signal }));
      }),
  });

  serveRaw(server, `POST ${PATH}/preview`, {
    ...previewed,
    tags: ['Channels'],
    params: Type.Object({ id: ChannelParams.properties.id }),
    summary: 'Preview a definition',
    body: SentPreview,
    handle: ({ project, body: sent }, reply) =>
      whileCallerWaits(reply, async (signal) =>
        sendJson(reply, await channels.preview(project, sent, { channel: undefined, signal })),
      ),
  });
}
