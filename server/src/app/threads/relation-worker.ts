/** Entry of the threads that answer relations and searches, because finding related products may take long. */
import { workerData } from 'node:worker_threads';
import { productOperations, relationOperations } from '../../agents/reading/reading.ts';
import type { CatalogSnapshots } from '../../catalog/catalog.ts';
import { ucpOperations } from '../../channels/ucp/ucp.ts';
import { rowCatalogs } from '../../relations/relation-store/postgres/postgres.ts';
import { fileCatalogs } from '../../relations/relation-store/sqlite/sqlite.ts';
import { readerOperations } from '../../relations/relation-threads/relation-threads.ts';
import { openSearch } from '../../search/search.ts';
import { openPostgres, Readers } from '../../storage/postgres/postgres.ts';
import { CatalogFiles } from '../../storage/sqlite/sqlite.ts';
import { openPayloads, type ThreadPlace } from '../../storage/storage.ts';
import { type Operation, serveOperations } from '../../storage/threads/threads.ts';
import { snapshotsOfFiles, snapshotsOfRows } from '../stores.ts';

serveOperations(openOperations(workerData as ThreadPlace), { isUrgent: true });

function openOperations(location: ThreadPlace) {
  if (location.kind === 'embedded') {
    const files = new CatalogFiles(location.catalogs, location);
    const relations: Record<string, Operation> = readerOperations(
      fileCatalogs(files, openPayloads(location)),
    );
    return {
      ...relations,
      ...questionOperations(snapshotsOfFiles(files, location)),
    };
  }
  const postgres = openPostgres(location);
  const isAlone = location.replicaUrls.length === 0;
  const readPostgres = isAlone ? () => postgres : pickBy(new Readers(postgres, location));
  const relations: Record<string, Operation> = readerOperations(rowCatalogs({ postgres, readPostgres }));
  return {
    ...relations,
    ...questionOperations(snapshotsOfRows(postgres, readPostgres)),
  };
}

const pickBy = (readers: Readers) => () => readers.pick();

function questionOperations(snapshots: CatalogSnapshots) {
  const { operations, findGroups } = openSearch(snapshots);
  return {
    ...operations,
    ...productOperations(snapshots, operations.searchProducts),
    ...relationOperations,
    ...ucpOperations(findGroups),
  };
}
