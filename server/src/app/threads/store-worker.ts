/** Entry of the threads that write catalogs. */
import { workerData } from 'node:worker_threads';
import { postgresWriterOperations, writerOperations } from '../../catalog/catalog.ts';
import {
  postgresRelationWriterOperations,
  relationBatchDerivation,
  relationDerivation,
  relationWriterOperations,
} from '../../relations/relations.ts';
import {
  createCatalogFiles,
  openPostgres,
  serveOperations,
  type ThreadPlace,
} from '../../storage/storage.ts';

const place = workerData as ThreadPlace;
if (place.kind === 'embedded') {
  const files = createCatalogFiles(place.catalogs, place.markMoves);
  serveOperations({
    ...writerOperations({ files, derivation: relationDerivation() }),
    ...relationWriterOperations(files),
  });
} else {
  const postgres = openPostgres(place);
  serveOperations({
    ...postgresWriterOperations({ postgres, derivation: relationBatchDerivation() }),
    ...postgresRelationWriterOperations(postgres),
  });
}
