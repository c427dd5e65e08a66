/** Entry of the thread that builds a channel: it reads a whole catalog with related products, and writes files. */
import { workerData } from 'node:worker_threads';
import { type ChannelThreadData, channelThreadOperations } from '../../channels/builds/builds.ts';
import { createPostgresPasses } from '../../relations/relation-store/postgres/postgres.ts';
import { createSqlitePasses } from '../../relations/relation-store/sqlite/sqlite.ts';
import { openPostgres } from '../../storage/postgres/postgres.ts';
import { CatalogFiles } from '../../storage/sqlite/sqlite.ts';
import { openPayloads } from '../../storage/storage.ts';
import { serveOperations } from '../../storage/threads/threads.ts';

const { place, allow } = workerData as ChannelThreadData;
const passes =
  place.kind === 'embedded'
    ? createSqlitePasses(new CatalogFiles(place.catalogs, place))
    : createPostgresPasses(openPostgres(place));

serveOperations(channelThreadOperations({ passes, payloads: openPayloads(place), allow }));
