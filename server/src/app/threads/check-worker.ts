/** Entry of the thread that checks the owners of catalog files, and reads each file in full to find damage. */
import { dirname } from 'node:path';
import { workerData } from 'node:worker_threads';
import { PRODUCTS_WITHOUT_DOCUMENT } from '../../catalog/store/sqlite/sqlite.ts';
import { catalogPath, dataFolderAt } from '../../storage/folder/folder.ts';
import { findDamage, listForeignCatalogs } from '../../storage/sqlite/sqlite.ts';
import { serveOperations } from '../../storage/threads/threads.ts';

const location = workerData as { catalogs: string };

serveOperations({
  check: ({ projectId }: { projectId: number }) =>
    findDamage(catalogPath(location, projectId), PRODUCTS_WITHOUT_DOCUMENT),
  listForeign: () => listForeignCatalogs(dataFolderAt(dirname(location.catalogs))),
});
