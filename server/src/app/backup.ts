/** The continuous backup of the embedded store: its thread, and what the service says of it. */
import type { Config } from '../config.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import { createThreadPool } from '../storage/threads/threads.ts';
import { createStreamState, STATE, type StreamSettings } from '../transfer/timeline/timeline.ts';

export type Backup = Awaited<ReturnType<typeof openBackup>>;

/** How often the log hears of a target that comes and goes. */
const WATCH_MS = 500;

/**
 * Holds the logs of the files that are there; nothing is sent before `start`.
 * @param entry of its thread
 */
export async function openBackup(
  { dataDir, backup: { url, s3, ...options } }: Config,
  target: string,
  entry: URL,
) {
  const state = createStreamState();
  const settings: StreamSettings = { dataDir, target: { url: target, s3 }, ...options };
  const thread = createThreadPool(entry, { size: 1, workerData: { settings, state } });
  const run = <Output>(operation: string) => thread.run<Output>(operation, {}, { key: 0 });
  await run('open');
  let timer: NodeJS.Timeout | undefined;
  const read = (place: number) => state[place] ?? 0;
  const secondsSince = (at: number) => (at === 0 ? 0 : Math.max(0, Date.now() - at) / 1_000);

  return {
    read,
    /** For the health check. */
    describe() {
      const at = read(STATE.sentAt);
      return {
        behindSeconds: secondsSince(read(STATE.behindSince)),
        lastInstant: at === 0 ? null : new Date(at).toISOString(),
      };
    },
    /** How far the target is behind the service. */
    readLagSeconds: () => secondsSince(read(STATE.behindSince)),
    /** @throws superseded */
    refuseWrites(): void {
      if (read(STATE.isSuperseded) === 1) throw new ServiceError('superseded');
    },
    listProblems(): string[] {
      if (read(STATE.isSuperseded) === 1)
        return ['another service was promoted and writes in place of this one: stop this one'];
      if (read(STATE.isAway) === 0) return [];
      const lag = Math.round(secondsSince(read(STATE.behindSince)));
      return [`the target of the backup cannot be reached: it is ${lag} s behind`];
    },
    /** @param onSuperseded  called once somebody else writes. @throws Error when the target belongs to somebody else */
    async start(logger: Logger, onSuperseded: () => Promise<void>): Promise<void> {
      const refusal = await run<string | undefined>('start');
      if (refusal !== undefined) throw new Error(refusal);
      const describe = () => run<string>('describe');
      const events = watchState({ read, describe, logger, target, onSuperseded });
      timer = setInterval(() => void events().catch(() => {}), WATCH_MS);
      timer.unref();
    },
    /** Sends what is left: the last one to use the files. */
    async stop(): Promise<void> {
      clearInterval(timer);
      await run('stop');
      await thread.close();
    },
  };
}

interface Watched {
  read(place: number): number;
  describe(): Promise<string>;
  readonly logger: Logger;
  readonly target: string;
  onSuperseded(): Promise<void>;
}

/** @returns what tells the log once of what has become different */
function watchState({ read, describe, logger, target, onSuperseded }: Watched) {
  let before = { isAway: false, isSuperseded: false };
  const tellTarget = async (isAway: boolean) => {
    if (!isAway) return logger.info({ target }, 'the target of the backup is reached again');
    const text = 'the target of the backup cannot be reached: changes are kept on the disk and sent later';
    logger.error({ target, reason: await describe() }, text);
  };
  return async () => {
    const now = { isAway: read(STATE.isAway) === 1, isSuperseded: read(STATE.isSuperseded) === 1 };
    const last = before;
    before = now;
    if (now.isSuperseded && !last.isSuperseded) {
      logger.error({ target }, 'another service was promoted: this one takes no changes any more');
      await onSuperseded();
    } else if (now.isAway !== last.isAway) await tellTarget(now.isAway);
  };
}
