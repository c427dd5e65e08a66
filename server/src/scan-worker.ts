/** Entry of the thread that looks through catalogs: searches and counts that no index helps. */
import { workerData } from 'node:worker_threads';
import { postgresScanThreadOperations, scanThreadOperations } from './catalog/catalog.ts';
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
  serveOperations(scanThreadOperations({ files, payloads, derivation: relationDerivation() }));
} else {
  const postgres = openPostgres(place);
  const { read: readPayload } = createPayloadRows(postgres);
  const derivation = relationBatchDerivation();
  serveOperations(postgresScanThreadOperations({ postgres, readPayload, derivation }));
}
