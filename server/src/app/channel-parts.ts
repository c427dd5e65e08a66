/** The composition of channels: their builds with the threads that make them. */
import { type Channels, createBuildThreads, createChannels } from '../channels/channels.ts';
import type { PipelineNeeds } from './pipeline-parts.ts';
import { threadEntry, threadPlaceOf } from './stores.ts';

export function openChannels(needs: PipelineNeeds): Channels {
  const { config, storage, secrets, clock, logger, projects, tasks, catalog, relations } = needs;
  const { database, payloads } = storage;
  const place = threadPlaceOf(config, storage);
  const threads = createBuildThreads(threadEntry('channel-worker'), { place, allow: [...config.fetchAllow] });
  const channels = createChannels({
    ...{ database, payloads, secrets, clock, logger, tasks, threads },
    ...{ catalog, relations },
  });
  projects.whenGone(async (tx, { type, id }) => {
    if (type === 'project') await channels.removeOf(tx, id);
  });
  return channels;
}
