/** Entry of the thread that checks whether catalog files are damaged: it reads each as a whole. */
import { workerData } from 'node:worker_threads';
import { PRODUCTS_WITHOUT_DOCUMENT } from '../../catalog/catalog.ts';
import { catalogPath, findDamage, serveOperations } from '../../storage/storage.ts';

const place = workerData as { catalogs: string };

serveOperations({
  check: ({ projectId }: { projectId: number }) => ({
    output: findDamage(catalogPath(place, projectId), PRODUCTS_WITHOUT_DOCUMENT),
  }),
});
