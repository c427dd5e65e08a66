import { markOfDefined, type Shown } from '../../definitions/definitions.ts';
import {
  answerAs,
  inProject,
  type Routes,
  type RouteTools,
  type Served,
  serveChange,
  serveCreation,
  serveList,
  serveRead,
  serveRemoval,
} from '../../http/server/server.ts';
import type { ChosenProject } from '../../kernel/caller.ts';
import type { Channels } from '../channels.ts';
import type { Channel, Snapshot } from './channel.ts';
import { SentChannel, toWireChannel, WireChannel } from './channel-schemas.ts';

/** A mapping may name 2,000 fields; a filter holds many identifiers. */
const takesDefinition = { body: SentChannel, config: { maxBodyMib: 2 } };

/** Source: docs/interface.md §16. */
export const channelRoutes =
  ({ channels, answerOnce, findBaseUrl }: RouteTools & { readonly channels: Channels }): Routes =>
  (server) => {
    const served: Served<Shown<Channel, Snapshot>, ChosenProject> = {
      ...{ ...inProject, path: '/management/projects/:id/channels', idName: 'channelId' },
      ...{ tags: ['Channels'], answerOnce },
      answer: answerAs(WireChannel, (shown) => toWireChannel(shown, findBaseUrl) as never),
      markOf: ({ resource }) => markOfDefined(resource),
      markOfAnswer: markOfDefined,
    };
    serveList(server, served, { summary: 'List the channels of a project', list: channels.list });
    serveCreation(server, served, {
      ...{ summary: 'Create a channel', ...takesDefinition, create: channels.create },
    });
    serveRead(server, served, {
      summary: 'Read a channel; the ETag is for If-Match',
      get: channels.getShown,
    });
    serveRemoval(server, served, {
      summary: 'Delete a channel that is not being built, and what it has published',
      remove: channels.remove,
    });
    serveChange(server, served, {
      ...{ method: 'PUT', summary: 'Replace a channel', ...takesDefinition, change: channels.replace },
    });
    serveChange(server, served, {
      ...{ method: 'POST', below: '/rotate-url' },
      summary: 'Give the published files another address; the old one ends',
      change: channels.rotateUrl,
    });
  };
