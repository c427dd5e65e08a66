/** Entry of the threads that write catalogs. */
import { workerData } from 'node:worker_threads';
import { storeThreadOperations } from './catalog/catalog.ts';
import { relationDerivation, relationWriterOperations } from './relations/relations.ts';
import { createCatalogFiles, serveOperations } from './storage/storage.ts';

const files = createCatalogFiles((workerData as { catalogs: string }).catalogs);
serveOperations({
  ...storeThreadOperations({ files, derivation: relationDerivation() }),
  ...relationWriterOperations(files),
});
