/** Entry of the threads that answer relations: what goes with a product may take long to find. */
import { workerData } from 'node:worker_threads';
import { postgresRelationReaderOperations, relationReaderOperations } from '../../relations/relations.ts';
import {
  createCatalogFiles,
  createReaders,
  openPayloads,
  openPostgres,
  type Postgres,
  serveOperations,
  type ThreadPlace,
} from '../../storage/storage.ts';

serveOperations(openOperations(workerData as ThreadPlace), { isUrgent: true });

function openOperations(place: ThreadPlace) {
  if (place.kind === 'embedded')
    return relationReaderOperations(createCatalogFiles(place.catalogs), openPayloads(place));
  const postgres = openPostgres(place);
  return postgresRelationReaderOperations({ postgres, readPostgres: chooseReaders(postgres, place) });
}

function chooseReaders(primary: Postgres, place: Extract<ThreadPlace, { kind: 'postgres' }>): () => Postgres {
  const replicas = place.replicaUrls.map((url) => ({ ...place, url }));
  if (replicas.length === 0) return () => primary;
  return createReaders({ primary, replicas, maxDelayMs: place.replicaMaxDelayMs }).pick;
}
