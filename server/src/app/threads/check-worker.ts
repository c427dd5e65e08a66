/** Entry of the thread that checks catalog files for damage, reading each in full. */
import { workerData } from 'node:worker_threads';
import { PRODUCTS_WITHOUT_DOCUMENT } from '../../catalog/store/sqlite/sqlite.ts';
import { findDamage } from '../../storage/sqlite/sqlite.ts';
import { catalogPath } from '../../storage/storage.ts';
import { serveOperations } from '../../storage/threads/threads.ts';

const place = workerData as { catalogs: string };

serveOperations({
  check: ({ projectId }: { projectId: number }) =>
    findDamage(catalogPath(place, projectId), PRODUCTS_WITHOUT_DOCUMENT),
});
