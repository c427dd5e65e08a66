/** Entry of the threads that write catalogs. */
import { workerData } from 'node:worker_threads';
import { postgresWriterOperations } from '../../catalog/store/postgres/postgres.ts';
import { writerOperations } from '../../catalog/store/sqlite/sqlite.ts';
import { openRowWriter, relationBatchDerivation } from '../../relations/relation-store/postgres/postgres.ts';
import { openFileWriter, relationDerivation } from '../../relations/relation-store/sqlite/sqlite.ts';
import { writerOperations as relationWriterOperations } from '../../relations/relation-threads/relation-threads.ts';
import {
  indexWriterOperations,
  postgresIndexWriterOperations,
} from '../../search/index-store/index-store.ts';
import { openPostgres } from '../../storage/postgres/postgres.ts';
import { CatalogFiles } from '../../storage/sqlite/sqlite.ts';
import type { ThreadPlace } from '../../storage/storage.ts';
import { serveOperations } from '../../storage/threads/threads.ts';

const location = workerData as ThreadPlace;
if (location.kind === 'embedded') {
  const files = new CatalogFiles(location.catalogs, location);
  serveOperations({
    ...writerOperations({ files, derivation: relationDerivation() }),
    ...indexWriterOperations(files),
    ...relationWriterOperations(openFileWriter(files)),
  });
} else {
  const postgres = openPostgres(location);
  serveOperations({
    ...postgresWriterOperations({ postgres, derivation: relationBatchDerivation() }),
    ...postgresIndexWriterOperations(postgres),
    ...relationWriterOperations(openRowWriter(postgres)),
  });
}
