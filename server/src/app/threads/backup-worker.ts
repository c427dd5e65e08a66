/** Entry of the thread that sends the data directory to the target of its backup, or follows it. */
import { workerData } from 'node:worker_threads';
import { serveOperations } from '../../storage/threads/threads.ts';
import { BackupStream, type StreamSettings, type StreamState } from '../../transfer/timeline/timeline.ts';

const { settings, state } = workerData as { settings: StreamSettings; state: StreamState };
let stream: BackupStream | undefined;

serveOperations({
  /** Before other threads open the files, and close them. */
  open() {
    stream = new BackupStream(settings, state);
    return {};
  },
  /** @returns why it may not write; undefined: it does */
  async start() {
    return { output: await stream?.start() };
  },
  describe: () => ({ output: stream?.lastError }),
  async stop() {
    await stream?.stop();
    return {};
  },
});
