import { existsSync, readSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { WalEnd } from '../../storage/sqlite/sqlite.ts';
import { closeUnused, copyFrames, findWalEnd, openOnce, WalReader } from '../../storage/sqlite/sqlite.ts';
import { isBusy } from '../../storage/storage.ts';
import { ENTRY_BYTES, type Entry } from '../target/target.ts';

/** How much of a database file is in the target. */
export interface Sent {
  /** Where its log ended; undefined if it had no log. */
  readonly log?: WalEnd | undefined;
  /**
   * The stamp of the main file when it contained everything that was sent. A different stamp shows that there are other
   * writers.
   */
  readonly main?: string | undefined;
}

/** A part of the file that has to be sent. */
export interface Change {
  readonly file: WatchedFile;
  readonly end: WalEnd | undefined;
  /** The number of log frames that are already in the target; undefined: the whole file is sent. */
  readonly after: number | undefined;
  readonly next: Sent;
}

/** A log of 64 MiB is written back, as without a backup. */
const CHECKPOINT_BYTES = 64 * 1024 * 1024;
/** From this size on, a writer has to wait. */
const PATIENCE_BYTES = 4 * CHECKPOINT_BYTES;
/** A file without changes for this long is closed. */
const IDLE_MS = 60_000;

export const stampOf = (path: string): string => {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stats === undefined ? '' : `${stats.size}-${stats.mtimeNs}`;
};

/**
 * A database file whose log is copied. A connection stays open while the file has a log, because closing the last
 * connection would write the log back and remove it. No other code writes the log back. This class does so only under
 * the writers' lock, after it has put all unsent frames aside, so that no frame is lost.
 */
export class WatchedFile {
  readonly name: string;
  readonly path: string;
  sent: Sent | undefined;
  private connection: DatabaseSync | undefined;
  /** Reads a log that is written back before all of it is sent. */
  private guard: DatabaseSync | undefined;
  /**
   * The frames that a checkpoint wrote back before they were sent: the end of that log, and the last frame that was
   * sent.
   */
  private aside: { readonly end: WalEnd; readonly after: number } | undefined;
  private changedAt = 0;
  private end: WalEnd | undefined;

  constructor(name: string, path: string, sent: Sent | undefined) {
    this.name = name;
    this.path = path;
    this.sent = sent;
    // The file was left by a process that died. Its contents count as unsent.
    rmSync(this.asidePath, { force: true });
  }

  private get asidePath(): string {
    return `${this.path}-unsent`;
  }

  get hasLog(): boolean {
    return existsSync(`${this.path}-wal`);
  }

  /** Opens the connection before other code closes its connections. */
  hold(): void {
    if (this.connection !== undefined || !this.hasLog) return;
    this.connection = connect(this.path, 1_000);
  }

  private findEnd(): WalEnd | undefined {
    this.end = findWalEnd(this.path, this.end ?? this.sent?.log);
    return this.end;
  }

  /** @returns whether there may be changes to send */
  hasChanged = (): boolean => {
    const end = this.findEnd();
    if (this.aside !== undefined || this.sent === undefined) return true;
    const { log, main } = this.sent;
    if (end === undefined || end.frame === 0) return main !== stampOf(this.path);
    return end.salts !== log?.salts || end.frame !== log.frame || end.sum !== log.sum;
  };

  /** @returns the number of bytes of its log that are not in the target */
  countUnsent(): number {
    const end = this.findEnd();
    const sent = end?.salts === this.sent?.log?.salts ? (this.sent?.log?.frame ?? 0) : 0;
    const aside = this.aside === undefined ? 0 : this.aside.end.frame - this.aside.after;
    return ((end?.frame ?? 0) - sent + aside) * (end?.pageSize ?? 0);
  }

  /** @returns undefined if nothing has changed, or if the file is still empty */
  findChange(): Change | undefined {
    this.hold();
    const end = this.findEnd();
    const main = stampOf(this.path);
    if (end === undefined || end.frame === 0) return this.findChangeOfMain(main);
    const after = this.findSent(end, main);
    if (after === end.frame && this.aside === undefined) return undefined;
    // The main file contains the whole log only right after a checkpoint.
    return { file: this, end, after, next: after === end.frame ? { log: end, main } : { log: end } };
  }

  /** The change of a file without a log. */
  private findChangeOfMain(main: string): Change | undefined {
    if (main === '' || main.startsWith('0-')) return undefined;
    const after = this.findSent(undefined, main);
    if (after === 0 && this.aside === undefined) return undefined;
    return { file: this, end: undefined, after, next: { main } };
  }

  /** @returns its whole log, which is already in the target; undefined if the file has no log */
  describeLog(): Change | undefined {
    const end = this.findEnd();
    if (end === undefined || end.frame === 0) return undefined;
    return { file: this, end, after: end.frame, next: {} };
  }

  /** @returns whether the file was written to after `findChange` returned this change */
  hasMovedSince(change: Change | undefined): boolean {
    const { salts, frame = 0 } = change?.end ?? this.sent?.log ?? {};
    const end = this.findEnd();
    return (end?.frame ?? 0) !== 0 && (end?.salts !== salts || end?.frame !== frame);
  }

  /**
   * @returns the number of frames of the current log that are sent; undefined if the sent frames do not lead to the
   * log's state
   */
  private findSent(end: WalEnd | undefined, main: string): number | undefined {
    const { sent } = this;
    if (sent === undefined) return undefined;
    if (end !== undefined && end.salts === sent.log?.salts) {
      const { frame, sum } = sent.log;
      if (end.frame < frame) return undefined;
      // After a loss of power, the log may have continued from an earlier frame.
      using reader = new WalReader(`${this.path}-wal`, end.pageSize);
      return frame === 0 || reader.sumOf(frame, end.salts) === sum ? frame : undefined;
    }
    // The log began again, and nothing was written back after the previous log was sent completely.
    return sent.main === main ? 0 : undefined;
  }

  /**
   * @param how `isBase`: include the frames of the log that are already sent; `isAfresh`: a base copies the main file
   */
  async *readChange(
    { end, after }: Change,
    how: { isBase: boolean; isAfresh: boolean },
  ): AsyncGenerator<Entry> {
    const pageSize = end?.pageSize ?? readPageSize(this.path);
    const { aside } = this;
    if (after === undefined && !how.isAfresh) yield* this.readWhole(pageSize);
    else if (aside !== undefined) yield* this.readFrames(this.asidePath, aside.end, aside.after);
    if (end !== undefined) yield* this.readFrames(`${this.path}-wal`, end, how.isBase ? 0 : (after ?? 0));
    const pageCount = end?.pageCount ?? Math.floor(statSync(this.path).size / pageSize);
    yield { head: { kind: 'end', file: this.name, pageSize, pageCount }, bytes: new Uint8Array() };
  }

  private async *readWhole(pageSize: number): AsyncGenerator<Entry> {
    const stamp = stampOf(this.path);
    yield { head: { kind: 'begin', file: this.name }, bytes: new Uint8Array() };
    yield* readMain(this.name, this.path, pageSize);
    if (stampOf(this.path) !== stamp) throw new Error(`${this.name} changed while it was read`);
  }

  private async *readFrames(path: string, { salts, frame, pageSize }: WalEnd, after: number) {
    using reader = new WalReader(path, pageSize);
    const pages = reader.listPages(after + 1, frame, salts);
    const most = Math.max(1, Math.floor(ENTRY_BYTES / pageSize));
    const memory = Buffer.allocUnsafe(Math.min(most, pages.length) * pageSize);
    for (let index = 0; index < pages.length; index += most) {
      const part = pages.slice(index, index + most);
      const bytes = memory.subarray(0, part.length * pageSize);
      const frames = part.map(({ frame }) => frame);
      reader.readPages(frames, bytes);
      const numbers = part.map(({ page }) => page);
      yield { head: { kind: 'pages' as const, file: this.name, pageSize, pages: numbers }, bytes };
      await setImmediate();
    }
  }

  noteSent({ next }: Change): void {
    this.sent = next;
    this.changedAt = performance.now();
    if (this.aside !== undefined) this.dropAside();
  }

  /** Marks everything as unsent, so that a base sends it. */
  forget(): void {
    this.sent = undefined;
    if (this.aside !== undefined) this.dropAside();
  }

  /** The state that remains valid after a crash. Frames that were put aside are not found again. */
  get saved(): Sent | undefined {
    return this.aside === undefined ? this.sent : undefined;
  }

  /** Writes back a log that is long, or that has not grown for a while. */
  tidy(): void {
    if (this.connection === undefined || this.aside !== undefined) return;
    const end = this.findEnd();
    const bytes = end === undefined ? 0 : end.frame * end.pageSize;
    const isIdle = performance.now() - this.changedAt > IDLE_MS && !this.hasChanged();
    const isInMain = this.sent?.main !== undefined && end?.frame === this.sent.log?.frame;
    if (!isInMain && (bytes > CHECKPOINT_BYTES || isIdle)) this.checkpoint(bytes > PATIENCE_BYTES);
    if (isIdle && this.sent?.main !== undefined) this.release();
  }

  /**
   * Writes back most of a log while other code writes. The log cannot begin again while `guard` reads it. The rest
   * follows under the writers' lock, so that all unsent frames are put aside before the log may restart.
   */
  private checkpoint(isUrgent: boolean): void {
    const { salts, frame: begun = 0 } = this.findEnd() ?? {};
    // The sent frames of another log are no information about this log.
    if (this.sent !== undefined && this.sent.log?.salts !== salts) return;
    const before = this.guard;
    this.guard = connect(this.path, 1_000);
    this.guard?.exec('begin');
    this.guard?.prepare('select 1 from sqlite_schema').get();
    before?.close();
    // A reader of an earlier state prevents the log from being written back.
    if (this.writeBack() < begun) {
      this.letGo();
      return;
    }
    using lock = connect(this.path, isUrgent ? 1_000 : 50);
    try {
      lock?.exec('begin immediate');
      const end = this.findEnd();
      if (end !== undefined && end.frame > 0) this.writeRestBack(end, isUrgent);
    } catch (error) {
      if (!isBusy(error)) throw error;
    }
  }

  /** @returns how many frames of the log are in the main file */
  private writeBack = () =>
    Number(this.connection?.prepare('pragma wal_checkpoint(passive)').get()?.checkpointed ?? 0);

  private writeRestBack(end: WalEnd, isUrgent: boolean): void {
    const after = this.findSent(end, stampOf(this.path));
    const unsent = end.frame - (after ?? end.frame);
    // More of the log will be sent soon.
    if (!isUrgent && unsent * end.pageSize > CHECKPOINT_BYTES / 2) return;
    if (unsent > 0) copyFrames({ from: `${this.path}-wal`, to: this.asidePath }, end, end.frame - unsent);
    this.letGo();
    if (this.writeBack() < end.frame) return void this.dropAside();
    if (unsent > 0) this.aside = { end, after: end.frame - unsent };
    this.sent = after === undefined ? undefined : { log: end, main: stampOf(this.path) };
  }

  private letGo(): void {
    this.guard?.close();
    this.guard = undefined;
  }

  private dropAside(): void {
    rmSync(this.asidePath, { force: true });
    this.aside = undefined;
  }

  release(): void {
    this.letGo();
    this.connection?.close();
    this.connection = undefined;
    // Closing the last connection has written the log back.
    if (this.sent?.main === undefined && this.sent !== undefined && !this.hasLog)
      this.sent = { main: stampOf(this.path) };
  }
}

/** @returns undefined if the file does not exist, because SQLite would create it */
export function connect(path: string, timeout: number): DatabaseSync | undefined {
  if (!existsSync(path)) return undefined;
  const connection = new DatabaseSync(`${pathToFileURL(path).href}?mode=rw`, { timeout });
  connection.exec('pragma wal_autocheckpoint = 0; pragma cache_size = -256');
  connection.prepare('select 1 from sqlite_schema').get();
  return connection;
}

function readPageSize(path: string): number {
  const bytes = Buffer.alloc(2);
  readSync(openOnce(path, 'r'), bytes, 0, 2, 16);
  const size = bytes.readUInt16BE();
  return size === 1 ? 65_536 : size;
}

/**
 * Reads the main file even while its log is written back. Changes during the reading are in the segments that follow.
 */
export async function* readMain(
  name: string,
  path: string,
  pageSize = readPageSize(path),
): AsyncGenerator<Entry> {
  const file = openOnce(path, 'r');
  const most = Math.max(1, Math.floor(ENTRY_BYTES / pageSize));
  const bytes = Buffer.allocUnsafe(most * pageSize);
  for (let page = 1; ; page += most) {
    const read = readSync(file, bytes, 0, bytes.length, (page - 1) * pageSize);
    const count = Math.floor(read / pageSize);
    if (count === 0) break;
    const pages = Array.from({ length: count }, (_, index) => page + index);
    yield {
      head: { kind: 'pages', file: name, pageSize, pages },
      bytes: bytes.subarray(0, count * pageSize),
    };
    await setImmediate();
  }
  closeUnused();
}
