/** Entry of the threads that parse: what would hold up the thread that answers lookups. */
import { workerData } from 'node:worker_threads';
import { ingestThreadOperations } from './catalog/catalog.ts';
import { serveOperations } from './storage/storage.ts';

serveOperations(ingestThreadOperations(workerData as { catalogs: string; payloads: string }));
