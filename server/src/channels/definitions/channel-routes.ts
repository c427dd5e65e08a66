import { markOfDefined, type Shown } from '../../definitions/definitions.ts';
import { answerAs, inProject, type Routes, type RouteTools, serveKind } from '../../http/server/server.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import type { Channels } from '../channels.ts';
import { type Channel, SentChannel, type Snapshot, toWireChannel, WireChannel } from './channel-schemas.ts';

/** A mapping may name 2,000 fields; a filter holds many identifiers. */
const takesDefinition = { body: SentChannel, config: { maxBodyMib: 2 } };

/** Source: docs/interface.md §16. */
export const channelRoutes =
  ({ channels, answerOnce, findBaseUrl }: RouteTools & { readonly channels: Channels }): Routes =>
  (server) => {
    const kind = serveKind<Shown<Channel, Snapshot>, ChosenProject>(server, {
      ...{ ...inProject, path: '/management/projects/:id/channels', idName: 'channelId' },
      ...{ tags: ['Channels'], answerOnce },
      answer: answerAs(WireChannel, (shown) => toWireChannel(shown, findBaseUrl)),
      markOf: ({ resource }) => markOfDefined(resource),
      markOfAnswer: markOfDefined,
    });
    kind.list({ summary: 'List the channels of a project', list: channels.list });
    kind.create({ summary: 'Create a channel', ...takesDefinition, create: channels.create });
    kind.read({ summary: 'Read a channel; the ETag is for If-Match', get: channels.getShown });
    kind.remove({
      summary: 'Delete a channel that is not being built, and what it has published',
      remove: channels.remove,
    });
    kind.change({
      ...{ method: 'PUT', summary: 'Replace a channel', ...takesDefinition, change: channels.replace },
    });
    kind.change({
      ...{ method: 'POST', below: '/rotate-url' },
      summary: 'Give the published files another address; the old one ends',
      change: channels.rotateUrl,
    });
  };
