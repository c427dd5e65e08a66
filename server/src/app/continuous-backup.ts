/** The continuous backup of the embedded store: its thread, and how the service reacts to its state. */
import { existsSync } from 'node:fs';
import { OtherSchema } from '../backup/files/files.ts';
import { fillFolder } from '../backup/restore/restore.ts';
import { createStreamState, STATE, type StreamSettings, type StreamState } from '../backup/stream/stream.ts';
import { openExisting } from '../backup/target/target.ts';
import type { Config } from '../config.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/logger.ts';
import { dataFolderAt } from '../storage/folder/folder.ts';
import { isNewest, newestOf, readVersion } from '../storage/migrations/migrations.ts';
import { createFollows } from '../storage/sqlite/sqlite.ts';
import { createThreadPool, type ThreadPool } from '../storage/threads/threads.ts';
import { describeFailure, failureIn, type RoleChanges, watchState } from './backup-watch.ts';

/** The heap for young values is small, because the thread works on buffers of a quarter of a MiB. */
const YOUNG_MIB = 4;

/** The interval at which the state is read, which limits the log lines about it. */
const WATCH_MS = 500;

/**
 * Opens the backup and keeps the logs of the existing files from then on. It sends nothing before `begin`.
 * @param entry the entry point of the thread
 */
export async function openContinuousBackup(
  { dataDir, backup: { url = '', s3, key, ...options } }: Config,
  entry: URL,
  isStandby: boolean,
): Promise<ContinuousBackup> {
  const settings: StreamSettings = { dataDir, target: { url, s3, key }, ...options };
  if (isStandby) await followInto(settings);
  const state = createStreamState();
  const workerData = { settings, state, isStandby };
  const thread = createThreadPool(entry, { size: 1, youngMib: YOUNG_MIB, workerData });
  const backup = new ContinuousBackup({ url, state, thread, isStandby });
  await backup.open();
  return backup;
}

interface BackupParts {
  readonly url: string;
  /** The numbers that the thread of the backup shares. */
  readonly state: StreamState;
  readonly thread: ThreadPool;
  readonly isStandby: boolean;
}

export class ContinuousBackup {
  /** A flag, shared with all threads, that another service writes the files. */
  readonly follows: ReturnType<typeof createFollows>;
  private readonly url: string;
  private readonly state: StreamState;
  private readonly thread: ThreadPool;
  private timer: NodeJS.Timeout | undefined;

  constructor({ url, state, thread, isStandby }: BackupParts) {
    this.url = url;
    this.state = state;
    this.thread = thread;
    this.follows = createFollows(isStandby);
  }

  /** Call it before other threads open and close the files. */
  open(): Promise<void> {
    return this.run('open');
  }

  /**
   * Becomes the writer of the target and sends changes from then on; a standby follows the target instead.
   * @throws Error if the target belongs to another service
   */
  async begin(): Promise<void> {
    const refusal = await this.run<string | undefined>('start');
    if (refusal !== undefined) throw new Error(refusal);
  }

  /**
   * Reports failures and changes of the role.
   * @param on `superseded` is called when another service becomes the writer, `promoted` when this one does
   */
  start(logger: Logger, on: RoleChanges): void {
    const promoted = async () => {
      const reason = await this.run<string | undefined>('turn');
      if (reason !== undefined)
        return logger.error({ reason }, 'promoting this standby failed; it accepts no changes');
      await on.promoting();
      Atomics.store(this.follows, 0, 0);
      await on.promoted();
    };
    const events = watchState({
      read: (name) => this.read(name),
      describe: () => this.run<string>('describe'),
      logger,
      target: this.url,
      on: { ...on, promoted },
    });
    this.timer = setInterval(() => void events().catch(() => {}), WATCH_MS);
    this.timer.unref();
  }

  /** Sends the remaining changes. Call it after all other users of the files have closed them. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.run('stop');
    await this.thread.close();
  }

  /** @throws standby, superseded; superseded also for a change that was in progress when the files were handed over */
  async write<Result>(change: () => Promise<Result>): Promise<Result> {
    this.refuseWrites();
    try {
      return await change();
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'not_ready') this.refuseWrites();
      throw error;
    }
  }

  read(name: keyof typeof STATE): number {
    return this.state[STATE[name]] ?? 0;
  }

  isStandby(): boolean {
    return Atomics.load(this.follows, 0) === 1;
  }

  /** Describes the state for the health check. */
  describe() {
    const isFollowing = this.isStandby();
    const instant = this.read(isFollowing ? 'followedAt' : 'sentAt');
    return {
      behindSeconds: secondsSince(isFollowing ? instant : this.read('behindSince')),
      lastInstant: instant === 0 ? null : new Date(instant).toISOString(),
    };
  }

  /** How far the target lags behind the service. */
  readLagSeconds(): number {
    return secondsSince(this.read('behindSince'));
  }

  /** How far a standby lags behind the writer. */
  readStandbySeconds(): number {
    return secondsSince(this.read('followedAt'));
  }

  /** @returns whether the backup does not continue. A target that has lost an object still receives new changes. */
  isAway(): boolean {
    return !['none', 'incomplete'].includes(failureIn((name) => this.read(name)));
  }

  listProblems(): string[] {
    if (this.read('isSuperseded') === 1)
      return ['another service was promoted and is now the writer: stop this service'];
    const text = describeFailure((name) => this.read(name));
    return text === undefined ? [] : [`${text}; it is ${Math.round(this.describe().behindSeconds)} s behind`];
  }

  private run<Output>(operation: string): Promise<Output> {
    return this.thread.run<Output>(operation, {}, { key: 0 });
  }

  private refuseWrites(): void {
    if (this.isStandby()) throw new ServiceError('standby');
    if (this.read('isSuperseded') === 1 || this.read('isHandingOver') === 1)
      throw new ServiceError('superseded');
  }
}

const secondsSince = (instant: number) => (instant === 0 ? 0 : Math.max(0, Date.now() - instant) / 1_000);

/**
 * Restores the data directory of a standby from the backup if it has no control database.
 * @throws Error if the files have another schema, because only the writer may migrate them
 */
async function followInto({ dataDir, target }: StreamSettings): Promise<void> {
  const { control } = dataFolderAt(dataDir);
  if (!existsSync(control)) await fillFolder(await openExisting(target), dataDir);
  if (!isNewest(control, 'control'))
    throw new OtherSchema('control.db', readVersion(control), newestOf('control'));
}
