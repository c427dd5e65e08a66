/** Entry of the thread that looks through catalogs: searches and counts that no index helps. */
import { workerData } from 'node:worker_threads';
import { scanThreadOperations } from '../../catalog/catalog.ts';
import { serveOperations, type ThreadPlace } from '../../storage/storage.ts';
import { openSnapshots } from '../thread-snapshots.ts';

serveOperations(scanThreadOperations(openSnapshots(workerData as ThreadPlace).snapshots));
