/** Entry of the parsing threads. Parsing would delay the thread that answers lookups. */
import { workerData } from 'node:worker_threads';
import { ingestThreadOperations } from '../../catalog/catalog.ts';
import { digestRequest } from '../../http/answers/answers.ts';
import { jsonOperations } from '../../http/bodies/bodies.ts';
import { indexParserOperations } from '../../search/index-store/index-store.ts';
import type { ThreadPlace } from '../../storage/storage.ts';
import { serveOperations } from '../../storage/threads/threads.ts';
import { openSnapshots } from '../stores.ts';

const { snapshots, files } = openSnapshots(workerData as ThreadPlace);
serveOperations({
  ...ingestThreadOperations(snapshots, files),
  ...indexParserOperations(snapshots),
  ...jsonOperations(),
  digestRequest,
});
