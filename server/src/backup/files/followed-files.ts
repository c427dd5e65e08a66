import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { dataFolderAt, listCatalogs, makeStoreFolders } from '../../storage/folder/folder.ts';
import { newestOf, USER_VERSION_AT } from '../../storage/migrations/migrations.ts';
import {
  findForeignSchema,
  findForeignSchemaIn,
  findWalEnd,
  WalAppender,
} from '../../storage/sqlite/sqlite.ts';
import { DamagedObject, type Entry, type EntryHead } from '../target/target.ts';
import { connect, stampOf } from './watched-file.ts';
import type { SentFiles } from './watched-folder.ts';

/** The writer has a newer schema version, and this program works only with its own. */
export class OtherSchema extends Error {
  override readonly name = 'OtherSchema';

  constructor(file: string, present: number, supported: number) {
    super(
      `${file} comes from a service with schema ${present}, but this program supports ${supported}: run the same version here as there`,
    );
  }
}

type Pages = Extract<EntryHead, { kind: 'pages' }>;

/** The limit of open files. Beyond it, files are closed and opened again. */
const OPEN_FILES = 256;
/** A log of 64 MiB is written back, as on the writer. */
const CHECKPOINT_BYTES = 64 * 1024 * 1024;

/**
 * Brings the files of a data directory to the state that spans describe. Other code may read existing databases at the
 * same time, because changes are appended to their logs as transactions. New files, files that are not databases, and
 * all files of a restore have another name until they are complete.
 */
export class FollowedFiles {
  private readonly root: string;
  private readonly connections = new Map<string, DatabaseSync>();
  /** By name, the schema version that was compared last. */
  private readonly schemas = new Map<string, number>();
  private readonly appenders = new Map<string, WalAppender>();
  /** By name, the file descriptor; undefined while the file is closed. */
  private readonly arriving = new Map<string, number | undefined>();

  constructor(root: string) {
    this.root = root;
    makeStoreFolders(dataFolderAt(root));
  }

  /** @throws OtherSchema before any change of the entry is visible */
  apply(entry: Entry): void {
    const { head, bytes } = entry;
    if (head.kind === 'pages') refuseNewer(head, bytes);
    if (head.kind === 'gone') this.remove(head.file);
    else if (!head.file.endsWith('.db') || !fs.existsSync(join(this.root, head.file))) this.arrive(entry);
    else if (head.kind === 'pages') this.append(head, bytes);
    else if (head.kind === 'end') this.commit(head);
  }

  /** Makes new files visible, and shortens old logs. @returns the number of files that arrived */
  publish(): number {
    const names = [...this.arriving.keys()];
    for (const name of names) this.closeFile(name);
    for (const name of names.filter((candidate) => candidate.endsWith('.db')))
      refuseForeign(name, findForeignSchemaIn(this.arrivingPath(name), kindOf(name)));
    // The control database is renamed last, because a folder without it does not look like a data directory.
    for (const name of names.sort((a, b) => Number(a === CONTROL) - Number(b === CONTROL)))
      fs.renameSync(this.arrivingPath(name), join(this.root, name));
    this.arriving.clear();
    for (const [name, connection] of this.connections) {
      const end = findWalEnd(join(this.root, name));
      if (end !== undefined && end.frame * end.pageSize > CHECKPOINT_BYTES)
        connection.exec('pragma wal_checkpoint(truncate)');
    }
    return names.length;
  }

  /** Removes files that have not arrived completely. */
  close(): void {
    for (const name of [...this.arriving.keys()]) this.drop(name);
    for (const connection of this.connections.values()) connection.close();
    this.connections.clear();
  }

  private arrivingPath = (name: string) => join(this.root, `${name}-arriving`);

  private arrive({ head, bytes }: Entry): void {
    if (head.kind === 'begin') this.drop(head.file);
    else if (head.kind === 'pages') writePages(this.descriptor(head.file), head, bytes);
    else if (head.kind === 'end')
      fs.ftruncateSync(this.descriptor(head.file), head.pageCount * head.pageSize);
    else if (head.kind === 'bytes') {
      if (head.at === 0) fs.ftruncateSync(this.descriptor(head.file), 0);
      fs.writeSync(this.descriptor(head.file), bytes, 0, bytes.length, head.at);
    }
  }

  private descriptor(name: string): number {
    const descriptor = this.arriving.get(name);
    if (descriptor !== undefined) return descriptor;
    const open = [...this.arriving].flatMap(([openName, file]) => (file === undefined ? [] : [openName]));
    if (open.length >= OPEN_FILES) for (const openName of open) this.closeFile(openName);
    const file = fs.openSync(this.arrivingPath(name), this.arriving.has(name) ? 'r+' : 'w', 0o600);
    this.arriving.set(name, file);
    return file;
  }

  private closeFile(name: string): void {
    const file = this.arriving.get(name);
    if (file === undefined) return;
    fs.fsyncSync(file);
    fs.closeSync(file);
    this.arriving.set(name, undefined);
  }

  private drop(name: string): void {
    this.closeFile(name);
    this.arriving.delete(name);
    fs.rmSync(this.arrivingPath(name), { force: true });
  }

  private append({ file, pageSize, pages }: Pages, bytes: Uint8Array): void {
    // A task must be visible as ended only together with its effect.
    if (file === CONTROL && this.arriving.size > 0) this.publish();
    const path = join(this.root, file);
    const connection = this.connections.get(file) ?? connect(path, 1_000);
    if (connection !== undefined) this.connections.set(file, connection);
    const begin = () => new WalAppender(path, pageSize, randomBytes(8));
    const appender = this.appenders.getOrInsertComputed(file, begin);
    for (const [index, page] of pages.entries())
      appender.add(page, Buffer.from(bytes.subarray(index * pageSize, (index + 1) * pageSize)));
  }

  private commit({ file, pageCount }: Extract<EntryHead, { kind: 'end' }>): void {
    const appender = this.appenders.get(file);
    if (appender === undefined) return;
    appender.commit(pageCount);
    appender.close();
    this.appenders.delete(file);
    this.checkSchema(file);
  }

  /** Reads the file again. A schema that did not change is not compared again. @throws DamagedObject */
  private checkSchema(file: string): void {
    const connection = this.connections.get(file);
    if (connection === undefined) return;
    connection.prepare('select 1 from sqlite_schema').get();
    const version = Number(connection.prepare('pragma schema_version').get()?.schema_version);
    if (this.schemas.get(file) === version) return;
    refuseForeign(file, findForeignSchema(connection, kindOf(file)));
    this.schemas.set(file, version);
  }

  private remove(name: string): void {
    this.drop(name);
    this.schemas.delete(name);
    this.connections.get(name)?.close();
    this.connections.delete(name);
    for (const suffix of ['', '-wal', '-shm'])
      fs.rmSync(join(this.root, `${name}${suffix}`), { force: true });
  }
}

const CONTROL = 'control.db';

const kindOf = (name: string) => (name === CONTROL ? 'control' : 'catalog');

/** @throws DamagedObject if a database contains something that could act at its next write or read */
function refuseForeign(file: string, foreign: readonly string[]): void {
  if (foreign.length === 0) return;
  throw new DamagedObject(
    `${file} is not restored: it has a ${foreign.join(', a ')}, which this service did not create`,
  );
}

/** The first page contains the version, and every migration changes the version. */
function refuseNewer({ file, pages, pageSize }: Pages, bytes: Uint8Array): void {
  if (!pages.includes(1)) return;
  const offset = pages.indexOf(1) * pageSize + USER_VERSION_AT;
  const present = Buffer.from(bytes.buffer, bytes.byteOffset).readInt32BE(offset);
  const supported = newestOf(kindOf(file));
  if (present > supported) throw new OtherSchema(file, present, supported);
}

function writePages(target: number, { pageSize, pages }: Pages, bytes: Uint8Array): void {
  for (let from = 0, to = 0; from < pages.length; from = to) {
    const first = pages[from] as number;
    for (to = from + 1; pages[to] === first + to - from; ) to += 1;
    fs.writeSync(target, bytes, from * pageSize, (to - from) * pageSize, (first - 1) * pageSize);
  }
}

/** @returns the state of all files as sent, because they came from the target */
export function listSent(dataDir: string): SentFiles {
  const folder = dataFolderAt(dataDir);
  const catalogs = listCatalogs(folder).map((id) => `catalogs/${id}.db`);
  const databases = [CONTROL, ...catalogs].map((name) => {
    const path = join(dataDir, name);
    const log = findWalEnd(path);
    return [name, log !== undefined && log.frame > 0 ? { log } : { main: stampOf(path) }] as const;
  });
  const others = fs.readdirSync(folder.payloads).map((name) => [`payloads/${name}`, ''] as const);
  return { databases: Object.fromEntries(databases), others: Object.fromEntries(others) };
}
