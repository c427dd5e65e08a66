import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { type DataFolder, dataFolderAt, listCatalogs, openNow } from '../../storage/folder/folder.ts';
import { isWholePayload } from '../../storage/payloads/payloads.ts';
import { ENTRY_BYTES, type Entry } from '../target/target.ts';
import { type Change, readMain, type Sent, WatchedFile } from './watched-file.ts';

/** How much of a data directory is in the target, as far as the directory knows. */
export interface SentFiles {
  readonly databases: Readonly<Record<string, Sent | undefined>>;
  /** Files that are not databases, each with its state. */
  readonly others: Readonly<Record<string, string>>;
}

interface Opened {
  readonly name: string;
  readonly file: number;
  readonly stamp: string;
}

/** All changes of the directory's files at one instant. */
export interface Cut {
  readonly at: number;
  readonly changes: readonly Change[];
  /** Opened files, so that they can be read even after their task has ended. */
  readonly opened: readonly Opened[];
  readonly gone: readonly string[];
}

const modifiedAt = (path: string) => String(statSync(path, { throwIfNoEntry: false, bigint: true })?.mtimeNs);

/** The files of a data directory, watched for changes. */
export class WatchedFolder {
  private readonly folder: DataFolder;
  private readonly control: WatchedFile;
  private readonly catalogs = new Map<string, WatchedFile>();
  private readonly others: Map<string, string>;
  /** Files that can change although their folder does not: files with a log, and payloads that are being written. */
  private active: WatchedFile[] = [];
  private unfinished = 0;
  private seen = '';
  private readonly withSecretKeys: boolean;

  /** @param withSecretKeys whether the keys of secrets are also sent, which requires that everything is encrypted */
  constructor(root: string, sent: SentFiles, withSecretKeys: boolean) {
    this.folder = dataFolderAt(root);
    this.withSecretKeys = withSecretKeys;
    const { control, catalogs } = this.folder;
    this.control = new WatchedFile('control.db', control, sent.databases['control.db']);
    for (const [name, state] of Object.entries(sent.databases))
      if (name !== 'control.db')
        this.catalogs.set(name, new WatchedFile(name, join(catalogs, name.slice('catalogs/'.length)), state));
    this.others = new Map(Object.entries(sent.others));
  }

  get databases(): WatchedFile[] {
    return [this.control, ...this.catalogs.values()];
  }

  get sent(): SentFiles {
    const databases = this.databases.flatMap(({ name, saved }) => (saved ? [[name, saved] as const] : []));
    return { databases: Object.fromEntries(databases), others: Object.fromEntries(this.others) };
  }

  /** Keeps the existing logs, before other code opens and closes their files. */
  hold(): void {
    this.listCatalogs();
    for (const database of this.databases) database.hold();
  }

  hasChanged(): boolean {
    const { control, active } = this;
    return (
      this.unfinished > 0 ||
      this.stamp() !== this.seen ||
      control.hasChanged() ||
      active.some((file) => file.hasChanged())
    );
  }

  /** Counts the unsent bytes of all catalogs in the next cut; only of the active ones if no folder has changed. */
  countUnsent(): number {
    const files = this.stamp() === this.seen ? [this.control, ...this.active] : this.databases;
    return files.reduce((sum, file) => sum + file.countUnsent(), 0);
  }

  /**
   * The service writes everything that a change of the control database relies on before that change, and everything
   * that relies on the change after it. So everything that is read while the control database does not change belongs
   * to the instant of its last change.
   */
  findCut(): Cut {
    for (;;) {
      const seen = this.stamp();
      const candidates = seen === this.seen ? () => this.active : () => [...this.catalogs.values()];
      const control = this.control.findChange();
      const { opened, gone: goneFiles } = this.openOthers();
      const gone = [...goneFiles, ...this.listCatalogs()];
      const changes = candidates().flatMap((file) => file.findChange() ?? []);
      if (!this.control.hasMovedSince(control)) {
        this.seen = seen;
        this.active = candidates().filter(({ hasLog }) => hasLog);
        // A task must be visible as ended only together with its effect.
        return { at: Date.now(), changes: control ? [...changes, control] : changes, opened, gone };
      }
      for (const { file } of opened) closeSync(file);
    }
  }

  /** Marks everything as unsent, so that a base sends it again. */
  forget(): void {
    for (const database of this.databases) database.forget();
    this.others.clear();
    this.seen = '';
  }

  /**
   * @param how of a base: `isBase`: also read the sent part of the logs, because the base has only main files;
   * `isAfresh`: no file is known
   */
  async *readCut(
    { changes, opened, gone }: Cut,
    how: { isBase: boolean; isAfresh: boolean },
  ): AsyncGenerator<Entry> {
    for (const file of gone) yield { head: { kind: 'gone', file }, bytes: new Uint8Array() };
    for (const { name, file } of opened) yield* readWhole(name, file);
    for (const change of changes) yield* change.file.readChange(change, how);
    if (!how.isBase) return;
    const changed = new Set(changes.map(({ file }) => file));
    for (const file of this.databases) {
      const change = changed.has(file) ? undefined : file.describeLog();
      if (change !== undefined) yield* file.readChange(change, how);
    }
  }

  noteSent({ changes, opened, gone }: Cut): void {
    for (const change of changes) change.file.noteSent(change);
    for (const { name, stamp } of opened) this.others.set(name, stamp);
    for (const name of gone) {
      this.others.delete(name);
      this.catalogs.get(name)?.release();
      this.catalogs.delete(name);
    }
  }

  closeCut({ opened }: Cut): void {
    for (const { file } of opened) closeSync(file);
  }

  /** Reads everything in its current state. Changes during the reading are in the segments. */
  async *readAll(signal: AbortSignal): AsyncGenerator<Entry> {
    const reads = [
      ...this.databases.map(({ name, path }) => readMain(name, path)),
      ...[...this.others.keys()].map((name) => readOther(name, join(this.folder.root, name))),
    ];
    for (const read of reads) {
      try {
        for await (const entry of read) {
          signal.throwIfAborted();
          yield entry;
        }
      } catch (error) {
        // A file that was removed during the reading has nothing more to send.
        if (!isMissing(error)) throw error;
      }
    }
  }

  private stamp = () =>
    [this.folder.catalogs, this.folder.payloads, this.folder.secretKeys].map(modifiedAt).join();

  /** @returns the catalogs that were removed */
  private listCatalogs(): string[] {
    const present = new Set(listCatalogs(this.folder).map((id) => `catalogs/${id}.db`));
    for (const name of present)
      if (!this.catalogs.has(name))
        this.catalogs.set(name, new WatchedFile(name, join(this.folder.root, name), undefined));
    return [...this.catalogs.keys()].filter((name) => !present.has(name));
  }

  /** A payload that is still being written belongs to no task yet. */
  private sortOpened(file: Opened, opened: Opened[]): void {
    if (file.name === 'secret-keys' || isWholePayload(file.file)) opened.push(file);
    else {
      closeSync(file.file);
      this.unfinished += 1;
    }
  }

  private openOthers(): Pick<Cut, 'opened' | 'gone'> {
    const payloads = readdirSync(this.folder.payloads).map((name) => `payloads/${name}`);
    const present = new Set([...payloads, ...(this.withSecretKeys ? ['secret-keys'] : [])]);
    const opened: Opened[] = [];
    this.unfinished = 0;
    for (const name of present) {
      const stamp = name === 'secret-keys' ? modifiedAt(this.folder.secretKeys) : '';
      const file = this.others.get(name) === stamp ? undefined : openIfThere(join(this.folder.root, name));
      if (file !== undefined) this.sortOpened({ name, file, stamp }, opened);
    }
    return { opened, gone: [...this.others.keys()].filter((name) => !present.has(name)) };
  }
}

const isMissing = (error: unknown) => (error as { code?: string }).code === 'ENOENT';

/** A file that was removed since is not needed, because the control database has changed before. */
function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function* readOther(name: string, path: string): AsyncGenerator<Entry> {
  using file = openNow(path, 'r');
  yield* readWhole(name, file.fd);
}

async function* readWhole(name: string, file: number): AsyncGenerator<Entry> {
  const { size } = fstatSync(file);
  const bytes = Buffer.allocUnsafe(Math.min(ENTRY_BYTES, size));
  for (let offset = 0; offset === 0 || offset < size; offset += ENTRY_BYTES) {
    const read = readSync(file, bytes, 0, Math.min(bytes.length, size - offset), offset);
    yield { head: { kind: 'bytes', file: name, at: offset }, bytes: bytes.subarray(0, read) };
    await setImmediate();
  }
}
