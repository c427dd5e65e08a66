/** Entry of the threads that write catalogs. */
import { workerData } from 'node:worker_threads';
import { storeThreadOperations } from './catalog/catalog.ts';
import { serveOperations } from './storage/storage.ts';

serveOperations(storeThreadOperations((workerData as { catalogs: string }).catalogs));
