import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { restoreTimeline } from '../../src/backup/restore/restore.ts';
import { BackupStream, createStreamState, STATE } from '../../src/backup/stream/stream.ts';
import { openTarget, type TargetSettings } from '../../src/backup/target/target.ts';
import { dataFolderAt, makeStoreFolders } from '../../src/storage/folder/folder.ts';
import { migrate } from '../../src/storage/migrations/migrations.ts';
import { until } from './task-process.ts';

/** How often tests check the target. A service checks it once a minute. */
const CHECK_MS = 20;

/** A data directory whose changes are rows of its control database, and the target of its backup. */
export class BackupPlace {
  readonly root: string;
  /** For a target in a directory. */
  readonly targetDir: string;
  readonly dataDir: string;
  readonly target: TargetSettings;
  private readonly control: DatabaseSync;

  private constructor(root: string, target: Partial<TargetSettings>) {
    this.root = root;
    this.targetDir = join(root, 'target');
    this.dataDir = join(root, 'data');
    this.target = { url: pathToFileURL(this.targetDir).href, s3: undefined, ...target };
    const folder = dataFolderAt(this.dataDir);
    makeStoreFolders(folder);
    this.control = new DatabaseSync(folder.control);
    this.control.exec('pragma journal_mode = wal; pragma wal_autocheckpoint = 0');
    migrate(this.control, 'control');
  }

  static create(t: TestContext, target: Partial<TargetSettings> = {}): BackupPlace {
    const root = mkdtempSync(join(tmpdir(), 'relata-target-'));
    const backupPlace = new BackupPlace(root, target);
    t.after(() => {
      backupPlace.control.close();
      rmSync(root, { recursive: true, force: true });
    });
    return backupPlace;
  }

  /** The same directory and target, with a key. */
  withKey(key: Uint8Array): BackupPlace {
    return Object.assign(Object.create(BackupPlace.prototype), this, { target: { ...this.target, key } });
  }

  /** Starts the backup and waits until a base exists. */
  async start(t: TestContext, dataDir = this.dataDir) {
    const sender = this.createSender(t, dataDir);
    const refusal = await sender.stream.start();
    if (refusal !== undefined) throw new Error(refusal);
    return sender;
  }

  createSender(t: TestContext, dataDir = this.dataDir) {
    const state = createStreamState();
    const stream = new BackupStream(
      {
        dataDir,
        target: this.target,
        keepSecondsHours: 24,
        keepHoursDays: 30,
        backlogBytes: 2 ** 30,
        checkMs: CHECK_MS,
      },
      state,
    );
    let isStopped = false;
    const stop = async () => {
      if (!isStopped) await stream.stop();
      isStopped = true;
    };
    t.after(stop);
    const read = (name: keyof typeof STATE) => Number(state[STATE[name]]);
    return { stream, state, stop, read, reason: () => stream.describe() };
  }

  /** Commits a change, which makes a segment. */
  change(name: string): void {
    this.control.prepare('insert into account (name, created_at) values (?, 1)').run(name);
  }

  async changeAndSend(name: string, read: (name: 'segments' | 'behindSince') => number): Promise<void> {
    const before = read('segments');
    this.change(name);
    await until(`${name} is sent`, () => read('segments') > before && read('behindSince') === 0);
  }

  open() {
    return openTarget(this.target);
  }

  /** @returns the names of all changes in a restored directory */
  async restore(
    directory: string,
    settings: Partial<TargetSettings> = {},
    index?: number,
  ): Promise<string[]> {
    const root = join(this.root, directory);
    await restoreTimeline(openTarget({ ...this.target, ...settings }), root, { at: index });
    using control = new DatabaseSync(dataFolderAt(root).control);
    return control
      .prepare('select name from account order by id')
      .all()
      .map(({ name }) => String(name));
  }
}
