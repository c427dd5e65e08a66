/** The continuous backup of the embedded store: its thread, and what the service reports about it. */
import { existsSync } from 'node:fs';
import { OtherSchema } from '../backup/files/files.ts';
import { fillFolder } from '../backup/restore/restore.ts';
import {
  createStreamState,
  FAILURES,
  type Failure,
  STATE,
  type StreamSettings,
} from '../backup/stream/stream.ts';
import { openExisting } from '../backup/target/target.ts';
import type { Config } from '../config.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import { dataFolderAt } from '../storage/folder/folder.ts';
import { isNewest, newestOf, readVersion } from '../storage/migrations/migrations.ts';
import { createFollows } from '../storage/sqlite/sqlite.ts';
import { createThreadPool } from '../storage/threads/threads.ts';

export type Backup = Awaited<ReturnType<typeof openBackup>>;

/** It works on buffers, a quarter of a MiB each. */
const YOUNG_MIB = 4;

/** How often the log may report a failure that comes and goes. */
const WATCH_MS = 500;

/**
 * Holds the logs of the existing files; nothing is sent before `start`.
 * @param entry the entry point of its thread
 */
export async function openBackup(
  { dataDir, backup: { url: target = '', s3, key, ...options } }: Config,
  entry: URL,
  isStandby: boolean,
) {
  const state = createStreamState();
  const settings: StreamSettings = { dataDir, target: { url: target, s3, key }, ...options };
  if (isStandby) await followInto(settings);
  const thread = createThreadPool(entry, {
    size: 1,
    youngMib: YOUNG_MIB,
    workerData: { settings, state, isStandby },
  });
  const run = <Output>(operation: string) => thread.run<Output>(operation, {}, { key: 0 });
  await run('open');
  let timer: NodeJS.Timeout | undefined;
  const read = (place: number) => state[place] ?? 0;
  const follows = createFollows(isStandby);
  const isStandbyNow = () => Atomics.load(follows, 0) === 1;
  const refuseWrites = () => {
    if (isStandbyNow()) throw new ServiceError('standby');
    if (read(STATE.isSuperseded) === 1 || read(STATE.isHandingOver) === 1)
      throw new ServiceError('superseded');
  };
  const secondsSince = (at: number) => (at === 0 ? 0 : Math.max(0, Date.now() - at) / 1_000);

  return {
    read,
    /** Whether another service writes the files, for all threads. */
    follows,
    /** For the health check. */
    describe() {
      const isFollowing = isStandbyNow();
      const at = read(isFollowing ? STATE.followedAt : STATE.sentAt);
      return {
        behindSeconds: secondsSince(isFollowing ? at : read(STATE.behindSince)),
        lastInstant: at === 0 ? null : new Date(at).toISOString(),
      };
    },
    /** How far the target lags behind the service. */
    readLagSeconds: () => secondsSince(read(STATE.behindSince)),
    /** How far a standby lags behind the writer. */
    readStandbySeconds: () => secondsSince(read(STATE.followedAt)),
    isStandby: isStandbyNow,
    /** Whether nothing is sent or followed. A target that lost an object still gets what follows. */
    isAway: () => !['none', 'incomplete'].includes(failureIn(read)),
    /** @throws standby, superseded; the latter also for a change in progress when the files were locked to hand over */
    async write<Result>(change: () => Promise<Result>): Promise<Result> {
      refuseWrites();
      try {
        return await change();
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'not_ready') refuseWrites();
        throw error;
      }
    },
    listProblems(): string[] {
      if (read(STATE.isSuperseded) === 1)
        return ['another service was promoted and writes in place of this one: stop this one'];
      const text = TEXTS[failureIn(read)];
      if (text === undefined) return [];
      return [`${text}; it is ${Math.round(this.describe().behindSeconds)} s behind`];
    },
    /** Becomes the writer of the target, and sends from then on, or follows it. @throws Error when the target is another's */
    async begin(): Promise<void> {
      const refusal = await run<string | undefined>('start');
      if (refusal !== undefined) throw new Error(refusal);
    },
    /** Reports failures and changes of the role. @param on `superseded`: another service writes now; `promoted`: this one does */
    start(logger: Logger, on: RoleChanges): void {
      const describe = () => run<string>('describe');
      const promoted = async () => {
        const reason = await run<string | undefined>('turn');
        if (reason !== undefined) return logger.error({ reason }, 'a promoted standby sends nothing');
        await on.promoting();
        Atomics.store(follows, 0, 0);
        await on.promoted();
      };
      const events = watchState({ read, describe, logger, target, on: { ...on, promoted } });
      timer = setInterval(() => void events().catch(() => {}), WATCH_MS);
      timer.unref();
    },
    /** Sends what is left; must be the last user of the files. */
    async stop(): Promise<void> {
      clearInterval(timer);
      await run('stop');
      await thread.close();
    },
  };
}

/**
 * Restores files that are missing.
 * @throws Error when they have another version: migrating them would change files that only the writer changes
 */
async function followInto({ dataDir, target }: StreamSettings): Promise<void> {
  const { control } = dataFolderAt(dataDir);
  if (!existsSync(control)) await fillFolder(await openExisting(target), dataDir);
  if (!isNewest(control, 'control'))
    throw new OtherSchema('control.db', readVersion(control), newestOf('control'));
}

/** Called when a service becomes, or ceases to be, the writer. */
interface RoleChanges {
  superseded(): Promise<void>;
  /** Called before the first change is accepted. */
  promoting(): Promise<void>;
  promoted(): Promise<void>;
}

interface Watched {
  read(place: number): number;
  describe(): Promise<string>;
  readonly logger: Logger;
  readonly target: string;
  readonly on: RoleChanges;
}

/** What an operator can do about each; meanwhile changes stay on the disk and are sent later, and a standby waits. */
const TEXTS: Readonly<Record<Failure, string | undefined>> = {
  none: undefined,
  unreachable: 'the target of the backup cannot be reached: check RELATA_BACKUP_URL and the network',
  refused: 'the target of the backup refuses access: check its keys, or the permissions of its folder',
  full: 'the target of the backup is full: make room there',
  damaged:
    'an object of the backup is damaged, missing or of another RELATA_BACKUP_KEY: relata backups URL --verify names it',
  unauthenticated:
    'an object of the backup is not authenticated by RELATA_BACKUP_KEY: relata backups URL --verify names it; a backup that an earlier version made, or one without the key, needs a new place',
  vanished:
    'the target of the backup is not there, or it holds another backup, and no new one is made: mount its disk, or name another place in RELATA_BACKUP_URL',
  incomplete:
    'the target of the backup had lost its base copy or a segment when it was last checked, so a new base copy is made: see the log for what is missing',
  otherSchema: 'the service that is followed has a newer schema: install its version here, too',
  dataDirectory: 'the backup cannot read or write the data directory: see the log, and run relata doctor',
};

const failureIn = (read: Watched['read']): Failure => FAILURES[read(STATE.failure)] ?? 'unreachable';

/** @returns a function that logs each change once, and changes the role */
function watchState({ read, describe, logger, target, on }: Watched) {
  let before = { text: TEXTS.none, isSuperseded: false, isPromoted: false };
  const tellFailure = async (text: string | undefined) =>
    text === undefined
      ? logger.info({ target }, 'the backup goes on again')
      : logger.error({ target, reason: await describe() }, text);
  return async () => {
    const is = (place: 'isSuperseded' | 'isPromoted') => read(STATE[place]) === 1;
    const text = TEXTS[failureIn(read)];
    const now = { text, isSuperseded: is('isSuperseded'), isPromoted: is('isPromoted') };
    const last = before;
    before = now;
    if (now.isPromoted && !last.isPromoted) {
      logger.warn({ target }, 'this standby was promoted: it takes changes from now on');
      await on.promoted();
    }
    if (now.isSuperseded && !last.isSuperseded) {
      logger.error({ target }, 'another service was promoted: this one takes no changes any more');
      await on.superseded();
    } else if (now.text !== last.text) await tellFailure(now.text);
  };
}
