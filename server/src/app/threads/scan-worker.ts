/** Entry of the thread that scans catalogs, for searches and counts that no index supports. */
import { workerData } from 'node:worker_threads';
import { scanThreadOperations } from '../../catalog/catalog.ts';
import type { ThreadPlace } from '../../storage/storage.ts';
import { serveOperations } from '../../storage/threads/threads.ts';
import { openSuggestionTally } from '../../suggestions/suggestions.ts';
import { openSnapshots } from '../stores.ts';

const { snapshots } = openSnapshots(workerData as ThreadPlace);
serveOperations(scanThreadOperations(snapshots, openSuggestionTally));
