/** Entry of the threads that parse: what would hold up the thread that answers lookups. */
import { workerData } from 'node:worker_threads';
import { ingestThreadOperations } from './catalog/catalog.ts';
import { relationDerivation } from './relations/relations.ts';
import { createCatalogFiles, serveOperations } from './storage/storage.ts';

const { catalogs, payloads } = workerData as { catalogs: string; payloads: string };
serveOperations(
  ingestThreadOperations({ files: createCatalogFiles(catalogs), payloads, derivation: relationDerivation() }),
);
