/** Entry of the threads that parse: what would hold up the thread that answers lookups. */
import { workerData } from 'node:worker_threads';
import { ingestThreadOperations, postgresIngestThreadOperations } from './catalog/catalog.ts';
import { relationBatchDerivation, relationDerivation } from './relations/relations.ts';
import {
  createCatalogFiles,
  createPayloadRows,
  openPostgres,
  serveOperations,
  type ThreadPlace,
} from './storage/storage.ts';

const place = workerData as ThreadPlace;
if (place.kind === 'embedded') {
  const { catalogs, payloads } = place;
  const files = createCatalogFiles(catalogs);
  serveOperations(ingestThreadOperations({ files, payloads, derivation: relationDerivation() }));
} else {
  const postgres = openPostgres(place);
  const { read: readPayload } = createPayloadRows(postgres);
  const derivation = relationBatchDerivation();
  serveOperations(postgresIngestThreadOperations({ postgres, readPayload, derivation }));
}
