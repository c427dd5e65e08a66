/** Entry of the thread that runs a pipeline: it fetches, reads and maps a source; another thread writes the results. */
import { workerData } from 'node:worker_threads';
import { type RunThreadData, runThreadOperations } from '../../pipelines/runs/runs.ts';
import { openPayloads } from '../../storage/storage.ts';
import { serveOperations } from '../../storage/threads/threads.ts';

const { place, sources } = workerData as RunThreadData;
let payloads: ReturnType<typeof openPayloads> | undefined;

serveOperations(
  runThreadOperations({
    sources,
    readPiece(projectId, name) {
      payloads ??= openPayloads(place);
      return payloads.read(projectId, name);
    },
  }),
);
