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
import { markOfChannel } from './channel.ts';
import { toWireChannel } from './channel-answers.ts';
import type { AlongsideChange } from './channel-definitions.ts';
import { type ChannelRouteParts, recordChannelChange } from './channel-route-parts.ts';
import { ChannelPage, ChannelParams, ListQuery, SentChannel, WireChannel } from './channel-schemas.ts';
import type { ChannelKey } from './channel-store.ts';

const config = { guard: 'management', access: 'manage' } as const;
/** A mapping may name 2,000 fields; a filter holds many identifiers. */
const takesDefinition = { ...config, maxBodyMib: 2 } as const;
const PATH = '/management/projects/:id/channels';
const about = { config, tags: ['Channels'], params: ProjectParams };
const aboutOne = {
  ...{ ...about, path: `${PATH}/:channelId`, params: ChannelParams },
  answer: { 200: WireChannel },
};

/** Source: docs/interface.md §16. */
export const channelRoutes =
  (parts: ChannelRouteParts): Routes =>
  (server) => {
    serveCollection(server, parts);
    serveChannel(server, parts);
    serveChanges(server, parts);
  };

function serveCollection(server: Server, parts: ChannelRouteParts): void {
  const { channels, answerOnce, findBaseUrl } = parts;
  const list = {
    ...about,
    method: 'GET',
    path: PATH,
    summary: 'List the channels of a project',
    ...{ query: ListQuery, answer: { 200: ChannelPage } },
  } as const;
  serve(server, list, async ({ project, query }) => {
    const { items, nextCursor } = await channels.list(project.id, query);
    return { items: items.map((state) => toWireChannel(state, findBaseUrl)), nextCursor };
  });

  const create = {
    ...about,
    method: 'POST',
    path: PATH,
    config: takesDefinition,
    summary: 'Create a channel',
    ...{ body: SentChannel, answer: { 201: WireChannel }, answerOnce },
  } as const;
  serveOnce(server, create, ({ project, caller, body: sent }, once, reply) => {
    const make: Change['make'] = (alongside, signal) =>
      channels.create(project, { accountId: project.accountId, signal, sent }, alongside);
    return answerChange(parts, { caller, once, reply }, { action: 'created', make });
  });
}

function serveChannel(server: Server, parts: ChannelRouteParts): void {
  const { channels, answerOnce, findBaseUrl } = parts;
  const read = { ...aboutOne, method: 'GET', summary: 'Read a channel; the ETag is for If-Match' } as const;
  serve(server, read, async ({ project, params }, reply) => {
    const state = await channels.getState({ projectId: project.id, id: params.channelId });
    // Beside the mark: a build changes the answer, and what a person has written stays.
    sendMark(reply, markOfChannel(state.channel));
    return toWireChannel(state, findBaseUrl);
  });

  const remove = {
    ...aboutOne,
    method: 'DELETE',
    summary: 'Delete a channel that is not being built, and what it has published',
    ...{ headers: IfMatch, answer: { 200: DoneAnswer }, answerOnce },
  } as const;
  serveOnce(server, remove, (request, once) => {
    const { project, params, caller } = request;
    return once(async (record) => {
      const key = { projectId: project.id, id: params.channelId };
      await channels.remove({ ...key, expected: readIfMatch(request) }, async (tx, channel) => {
        await recordChannelChange(parts, { tx, caller, action: 'deleted', channel });
        await record(tx, done);
      });
      return done;
    });
  });
}

function serveChanges(server: Server, parts: ChannelRouteParts): void {
  const { channels, answerOnce } = parts;
  const replace = {
    ...aboutOne,
    method: 'PUT',
    config: takesDefinition,
    ...{ summary: 'Replace a channel', headers: IfMatch, body: SentChannel, answerOnce },
  } as const;
  serveOnce(server, replace, (request, once, reply) => {
    const { project, caller, body: sent } = request;
    const key = { projectId: project.id, id: request.params.channelId };
    const expected = readIfMatch(request);
    const make: Change['make'] = (alongside, signal) =>
      channels.replace({ ...key, expected }, { accountId: project.accountId, signal, sent }, alongside);
    return answerChange(parts, { caller, once, reply }, { action: 'changed', key, make });
  });

  const rotate = {
    ...aboutOne,
    method: 'POST',
    path: `${aboutOne.path}/rotate-url`,
    ...{ summary: 'Give the published files another address; the old one ends', answerOnce },
  } as const;
  serveOnce(server, rotate, ({ project, params, caller }, once, reply) => {
    const key = { projectId: project.id, id: params.channelId };
    const make: Change['make'] = (alongside) => channels.rotateUrl(key, alongside);
    return answerChange(parts, { caller, once, reply }, { action: 'url-rotated', key, make });
  });
}

type Answered = Sent<Static<typeof WireChannel>>;

interface Change {
  readonly action: 'created' | 'changed' | 'url-rotated';
  /** Of the channel that is changed. */
  readonly key?: ChannelKey;
  readonly make: (alongside: AlongsideChange, signal: AbortSignal) => Promise<void>;
}

/** Makes a change once for each `Idempotency-Key`. @returns the channel as it is then */
function answerChange(
  parts: ChannelRouteParts,
  { caller, once, reply }: { caller: Caller; once: Once<Answered>; reply: FastifyReply },
  { action, key, make }: Change,
): Promise<Answered> {
  return whileCallerWaits(reply, async (signal) => {
    const answer = await once(async (record) => {
      const state = key && (await parts.channels.getState(key));
      let changed: Answered | undefined;
      await make(async (tx, channel, before) => {
        const after = { published: state?.published, lastBuild: state?.lastBuild, channel };
        changed = toWireChannel(after, parts.findBaseUrl) as Answered;
        await recordChannelChange(parts, { tx, caller, action, channel, before });
        await record(tx, changed);
      }, signal);
      assert(changed !== undefined);
      return changed;
    });
    sendMark(reply, markOfChannel(answer));
    return answer;
  });
}
