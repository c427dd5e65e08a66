/** Entry of the threads that answer relations and searches: what goes with a product may take long to find. */
import { workerData } from 'node:worker_threads';
import { searchThreadOperations } from '../../catalog/catalog.ts';
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
import { snapshotsOfFiles, snapshotsOfRows } from '../stores.ts';

serveOperations(openOperations(workerData as ThreadPlace), { isUrgent: true });

function openOperations(place: ThreadPlace) {
  if (place.kind === 'embedded') {
    const files = createCatalogFiles(place.catalogs, place.markMoves);
    return {
      ...relationReaderOperations(files, openPayloads(place)),
      ...searchThreadOperations(snapshotsOfFiles(files, place)),
    };
  }
  const postgres = openPostgres(place);
  const readPostgres = chooseReaders(postgres, place);
  return {
    ...postgresRelationReaderOperations({ postgres, readPostgres }),
    ...searchThreadOperations(snapshotsOfRows(postgres, readPostgres)),
  };
}

function chooseReaders(primary: Postgres, place: Extract<ThreadPlace, { kind: 'postgres' }>): () => Postgres {
  const replicas = place.replicaUrls.map((url) => ({ ...place, url }));
  if (replicas.length === 0) return () => primary;
  return createReaders({ primary, replicas, maxDelayMs: place.replicaMaxDelayMs }).pick;
}
