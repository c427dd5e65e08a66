/** Entry of the threads that answer relations: what goes with a product may take long to find. */
import { workerData } from 'node:worker_threads';
import { relationReaderOperations } from './relations/relations.ts';
import { createCatalogFiles, serveOperations } from './storage/storage.ts';

const { catalogs } = workerData as { catalogs: string };
serveOperations(relationReaderOperations(createCatalogFiles(catalogs)), { isUrgent: true });
