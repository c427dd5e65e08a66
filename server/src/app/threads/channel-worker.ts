/** Entry of the thread of a channel's build: it reads a whole catalog with what goes with its products, and writes files. */
import { workerData } from 'node:worker_threads';
import { type ChannelThreadData, channelThreadOperations } from '../../channels/channels.ts';
import { createPostgresPasses, createSqlitePasses } from '../../relations/relations.ts';
import { createCatalogFiles, openPayloads, openPostgres, serveOperations } from '../../storage/storage.ts';

const { place, allow } = workerData as ChannelThreadData;
const passes =
  place.kind === 'embedded'
    ? createSqlitePasses(createCatalogFiles(place.catalogs, place.markMoves))
    : createPostgresPasses(openPostgres(place));

serveOperations(channelThreadOperations({ passes, payloads: openPayloads(place), allow }));
