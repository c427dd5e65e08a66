import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { findWalEnd, WalAppender } from '../../storage/sqlite/sqlite.ts';
import { dataFolderAt } from '../../storage/storage.ts';
import {
  type LocalState,
  readLocalState,
  STATE,
  type StreamSettings,
  type StreamState,
  writeLocalState,
} from './backup-stream.ts';
import { type HeldLease, listLeases, readLease, takeLease } from './leases.ts';
import type { Entry, EntryHead } from './objects.ts';
import { FileSet, readSpanObject } from './restore-timeline.ts';
import { listSpans } from './retention.ts';
import { findPath, hourOf, readSpan, type Span, spansOf } from './spans.ts';
import { type BackupTarget, openTarget } from './target.ts';
import { connect, stampOf } from './watched-file.ts';
import type { SentFiles } from './watched-folder.ts';

const POLL_MS = 200;
/** A log of 64 MiB is written back, as that of a writer. */
const CHECKPOINT_BYTES = 64 * 1024 * 1024;

/** Where `relata promote` says what it wants of the standby that runs. */
export const promoteRequestAt = (dataDir: string) => join(dataDir, 'backup-state.json.promote');

/**
 * Brings the files of a data directory to the last instant of a target, again and again, while others read them. What comes is
 * appended to their logs as a transaction each, catalogs before the control database: a task that is seen as ended has
 * its effect.
 */
export class Standby {
  private readonly settings: StreamSettings;
  private readonly state: StreamState;
  private readonly target: BackupTarget;
  private readonly files: FollowedFiles;
  private readonly stopped = new AbortController();
  private local: LocalState;
  private leases: HeldLease[] = [];
  private working: Promise<void> | undefined;
  lastError = '';

  constructor(settings: StreamSettings, state: StreamState) {
    const local = readLocalState(settings.dataDir);
    if (local === undefined)
      throw new Error(`${settings.dataDir} follows no backup: begin with an empty directory`);
    this.settings = settings;
    this.state = state;
    this.local = local;
    this.target = openTarget(settings.target);
    this.files = new FollowedFiles(settings.dataDir);
    state[STATE.followedAt] = local.at;
  }

  async start(): Promise<undefined> {
    this.working = this.work();
    return undefined;
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    await this.working;
    this.files.close();
  }

  private async work(): Promise<void> {
    while (!this.stopped.signal.aborted && this.state[STATE.isPromoted] === 0) {
      try {
        await this.follow();
        if (existsSync(promoteRequestAt(this.settings.dataDir))) await this.promote();
        this.state[STATE.isAway] = 0;
      } catch (error) {
        this.lastError = (error as Error).message;
        this.state[STATE.failures] = (this.state[STATE.failures] ?? 0) + 1;
        this.state[STATE.isAway] = 1;
      }
      await delay(POLL_MS, undefined, { signal: this.stopped.signal }).catch(() => {});
    }
  }

  private async follow(): Promise<void> {
    const { target, settings, state } = this;
    await this.readLeases();
    const line = spansOf(await this.listNews(), this.leases, this.leases.at(-1)?.epoch ?? 0);
    for (const span of findPath(line, { from: this.local.seq })) {
      this.files.begin();
      for await (const entry of readSpanObject(target, span, settings.key)) this.files.apply(entry);
      this.files.end();
      this.save({ seq: span.to, at: span.at, epoch: span.epoch });
    }
    // A service without changes says that it is there.
    const renewedAt = this.leases.at(-1)?.renewedAt ?? 0;
    state[STATE.followedAt] = Math.max(this.local.at, renewedAt);
  }

  private async readLeases(): Promise<void> {
    const last = this.leases.at(-1);
    if (last === undefined) this.leases = await listLeases(this.target);
    else {
      const [now, next] = [
        await readLease(this.target, last.epoch),
        await readLease(this.target, last.epoch + 1),
      ];
      if (now !== undefined) this.leases.splice(-1, 1, now);
      if (next !== undefined) this.leases.push(next);
    }
  }

  /** Usually the segments of this hour; after a long time everything. */
  private async listNews(): Promise<Span[]> {
    const [from, to] = [Number(hourOf(this.local.at)), Number(hourOf(Date.now()))];
    if (to - from > 1) return listSpans(this.target);
    const names: string[] = [];
    for (let hour = from; hour <= Math.max(from, to); hour += 1)
      names.push(...(await this.target.list(`segments/${String(hour).padStart(7, '0')}`)));
    return names.flatMap((name) => readSpan(name) ?? []).filter((span) => span.to > this.local.seq);
  }

  /** Whoever wrote before sees the next epoch within a second or two, and takes no changes any more. */
  private async promote(): Promise<void> {
    const { target, settings, state } = this;
    const { holder, seq } = this.local;
    const epoch = (this.leases.at(-1)?.epoch ?? 0) + 1;
    const now = Date.now();
    if (!(await takeLease(target, { epoch, holder, from: seq, at: now, renewedAt: now }))) return;
    this.files.close();
    this.save({ epoch, files: listSent(settings.dataDir) });
    rmSync(promoteRequestAt(settings.dataDir));
    state[STATE.isPromoted] = 1;
  }

  private save(change: Partial<LocalState>): void {
    this.local = { ...this.local, files: { databases: {}, others: {} }, ...change };
    writeLocalState(this.settings.dataDir, this.local);
  }
}

/** @returns all files as they are: they came from the target */
function listSent(dataDir: string): SentFiles {
  const folder = dataFolderAt(dataDir);
  const catalogs = readdirSync(folder.catalogs).filter((name) => /^\d+\.db$/.test(name));
  const databases = ['control.db', ...catalogs.map((name) => `catalogs/${name}`)].map((name) => {
    const path = join(dataDir, name);
    const log = findWalEnd(path);
    return [name, log !== undefined && log.frame > 0 ? { log } : { main: stampOf(path) }] as const;
  });
  const others = readdirSync(folder.payloads).map((name) => [`payloads/${name}`, ''] as const);
  return { databases: Object.fromEntries(databases), others: Object.fromEntries(others) };
}

/** Files that others read while they change. */
class FollowedFiles {
  private readonly root: string;
  private readonly connections = new Map<string, DatabaseSync>();
  private readonly appenders = new Map<string, WalAppender>();
  /** Files that are not there yet, and those that are no databases: nobody reads them before they are whole. */
  private arriving: FileSet;

  constructor(root: string) {
    this.root = root;
    this.arriving = new FileSet(root);
  }

  begin(): void {
    this.arriving = new FileSet(this.root, '-arriving');
  }

  apply(entry: Entry): void {
    const { head } = entry;
    if (head.kind === 'gone') this.remove(head.file);
    else if (!head.file.endsWith('.db') || !existsSync(join(this.root, head.file)))
      this.arriving.apply(entry);
    else if (head.kind === 'pages') this.append(head, entry.bytes);
    else if (head.kind === 'end') this.commit(head);
  }

  /** Makes new files seen, and old logs short. */
  end(): void {
    for (const name of this.arriving.close()) {
      const path = join(this.root, name);
      renameSync(`${path}-arriving`, path);
    }
    for (const [name, connection] of this.connections) {
      const end = findWalEnd(join(this.root, name));
      if (end !== undefined && end.frame * end.pageSize > CHECKPOINT_BYTES)
        connection.exec('pragma wal_checkpoint(truncate)');
    }
  }

  private append({ file, pageSize, pages }: Extract<EntryHead, { kind: 'pages' }>, bytes: Uint8Array): void {
    const path = join(this.root, file);
    const connection = this.connections.get(file) ?? connect(path, 1_000);
    if (connection !== undefined) this.connections.set(file, connection);
    const appender = this.appenders.get(file) ?? new WalAppender(path, pageSize, randomBytes(8));
    this.appenders.set(file, appender);
    for (const [at, page] of pages.entries())
      appender.add(page, Buffer.from(bytes.subarray(at * pageSize, (at + 1) * pageSize)));
  }

  private commit({ file, pageCount }: Extract<EntryHead, { kind: 'end' }>): void {
    const appender = this.appenders.get(file);
    if (appender === undefined) return;
    appender.commit(pageCount);
    appender.close();
    this.appenders.delete(file);
    this.connections.get(file)?.prepare('select 1 from sqlite_schema').get();
  }

  private remove(name: string): void {
    this.connections.get(name)?.close();
    this.connections.delete(name);
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(this.root, `${name}${suffix}`), { force: true });
  }

  close(): void {
    for (const connection of this.connections.values()) connection.close();
    this.connections.clear();
  }
}
