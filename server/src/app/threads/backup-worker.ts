/** Entry of the thread that sends the data directory to the target of its backup, or follows the target. */
import { workerData } from 'node:worker_threads';
import { BackupStream, Standby, type StreamSettings, type StreamState } from '../../backup/stream/stream.ts';
import { serveOperations } from '../../storage/threads/threads.ts';

const { settings, state, isStandby } = workerData as {
  settings: StreamSettings;
  state: StreamState;
  isStandby: boolean;
};
let stream: BackupStream | Standby | undefined;

serveOperations({
  /** Call it before other threads open and close the files. */
  open() {
    stream = isStandby ? new Standby(settings, state) : new BackupStream(settings, state);
  },
  /** @returns why this service cannot write; undefined if it writes or is a standby */
  start: () => stream?.start(),
  /** Turns a promoted standby into a writer, which sends from then on. */
  async turn() {
    await stream?.stop();
    stream = new BackupStream(settings, state);
    return stream.start();
  },
  describe: () => stream?.describe(),
  stop: () => stream?.stop(),
});
