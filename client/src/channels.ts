import { type Page, paging, readTagged } from './page.ts';
import type { CallOptions, Transport } from './transport.ts';
import type { Channel, ChannelDefinition, ChannelToTry } from './wire.ts';

/** Names the channel. */
export interface ChannelPlace {
  readonly projectId: number;
  readonly channelId: number;
}

const toPath = ({ projectId, channelId }: ChannelPlace) => ({ id: projectId, channelId });

/** Channels, which publish the catalog for others. Source: docs/interface §16. */
export function createChannels({ call, request }: Transport) {
  return {
    list: (projectId: number, page: Page = {}) =>
      call('getManagementProjectsByIdChannels', { path: { id: projectId }, query: paging(page) }, page),

    get: (place: ChannelPlace, options: CallOptions = {}) => {
      const path = `/management/projects/${place.projectId}/channels/${place.channelId}`;
      return readTagged<Channel>({ request }, path, options);
    },

    create: (projectId: number, definition: ChannelDefinition, options: CallOptions = {}) =>
      call('postManagementProjectsByIdChannels', { path: { id: projectId }, body: definition }, options),

    /** Replaces a definition. Members that the service sets are ignored. */
    put: (place: ChannelPlace, definition: ChannelDefinition, options: CallOptions = {}) =>
      call(
        'putManagementProjectsByIdChannelsByChannelId',
        { path: toPath(place), body: definition },
        options,
      ),

    delete: (place: ChannelPlace, options: CallOptions = {}) =>
      call('deleteManagementProjectsByIdChannelsByChannelId', { path: toPath(place) }, options),

    /** Creates a new address for the published files. The old address stops working. */
    rotateUrl: (place: ChannelPlace, options: CallOptions = {}) =>
      call('postManagementProjectsByIdChannelsByChannelIdRotateUrl', { path: toPath(place) }, options),

    /** @returns the task */
    build: async (place: ChannelPlace, options: CallOptions = {}) =>
      (await call('postManagementProjectsByIdChannelsByChannelIdBuild', { path: toPath(place) }, options))
        .task,

    /** The builds, newest first. */
    builds: (place: ChannelPlace, page: Page = {}) =>
      call(
        'getManagementProjectsByIdChannelsByChannelIdBuilds',
        { path: toPath(place), query: paging(page) },
        page,
      ),

    /** The first rows of a stored channel. */
    previewStored: (place: ChannelPlace, options: CallOptions = {}) =>
      call(
        'postManagementProjectsByIdChannelsByChannelIdPreview',
        { path: toPath(place), body: null },
        options,
      ),

    /** Returns the first rows and the missing fields of products. Stores nothing. */
    preview: (projectId: number, tried: ChannelToTry, options: CallOptions = {}) =>
      call('postManagementProjectsByIdChannelsPreview', { path: { id: projectId }, body: tried }, options),
  };
}
