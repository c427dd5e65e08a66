import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { dataFolderAt, lockDataFolder, makeFolders, syncFolder } from '../../storage/storage.ts';
import { makeHolder, writeLocalState } from './backup-stream.ts';
import { listLeases } from './leases.ts';
import type { Entry, EntryHead } from './objects.ts';
import { listSpans, readObject } from './retention.ts';
import { listPoints, type Plan, planRestore, type Span } from './spans.ts';
import { type BackupTarget, readSmall } from './target.ts';
import { stampOf } from './watched-file.ts';

export interface Restored {
  readonly at: number;
  readonly files: number;
  /** Later instants that the target names, which cannot be reached: an object is missing. */
  readonly lostAt: number | undefined;
}

/** @throws Error that says since when something can be restored */
export async function findPlan(target: BackupTarget, at: number | undefined): Promise<Plan> {
  const spans = await listSpans(target);
  const leases = await listLeases(target);
  const plan = planRestore(spans, leases, at);
  if (plan !== undefined) return plan;
  const first = listPoints(spans, leases)[0];
  throw new Error(
    first === undefined
      ? 'Nothing can be restored: there is no base copy that is whole'
      : `Nothing of that instant or before is there: the first one is ${new Date(first.at).toISOString()}`,
  );
}

/**
 * Makes a data directory of what a target holds.
 * @throws Error when the directory is not empty or an object is damaged; nothing that looks like data is left then
 */
export async function restoreTimeline(
  target: BackupTarget,
  root: string,
  options: RestoreOptions,
): Promise<Restored> {
  const lock = lockEmpty(root);
  try {
    return await fillFolder(target, root, options);
  } finally {
    lock.close();
  }
}

interface RestoreOptions {
  readonly key: Uint8Array | undefined;
  readonly at?: number | undefined;
  /** Of the target, for whoever goes on with it. */
  readonly url: string;
}

function lockEmpty(root: string): ReturnType<typeof lockDataFolder> {
  if (existsSync(root) && readdirSync(root).length > 0)
    throw new Error(`${resolve(root)} is not empty: name a directory that is empty or not there yet`);
  return lockDataFolder(root);
}

/** The same for whoever holds the lock of the directory. */
export async function fillFolder(
  target: BackupTarget,
  root: string,
  { key, at, url }: RestoreOptions,
): Promise<Restored> {
  const plan = await findPlan(target, at);
  const { catalogs, payloads } = dataFolderAt(root);
  const files = new FileSet(root);
  try {
    for (const path of [catalogs, payloads]) makeFolders(path);
    for (const span of plan.spans)
      for await (const entry of readSpanObject(target, span, key)) files.apply(entry);
    const count = files.close().length;
    for (const path of [catalogs, payloads, root]) await syncFolder(path);
    writeLocalState(root, {
      ...{ holder: makeHolder(), epoch: plan.epoch, seq: plan.to, at: plan.at },
      ...{ files: files.describe(), url },
    });
    return { at: plan.at, files: count, lostAt: plan.lostAt };
  } catch (error) {
    files.drop();
    throw error;
  }
}

/** A base is the name of its copy. */
export async function* readSpanObject(
  target: BackupTarget,
  { kind, name }: Span,
  key: Uint8Array | undefined,
): AsyncGenerator<Entry> {
  const copy = kind === 'bases' ? (await readSmall(target, name))?.toString() : name;
  if (copy === undefined || !/^[\w/-]{1,200}$/.test(copy)) throw new Error(`${name} is damaged`);
  for await (const entry of readObject(target, copy, key)) {
    if (!FILES.test(entry.head.file)) throw new Error(`${entry.head.file} is no file of a data directory`);
    yield entry;
  }
}

/** Files of the directory that a span may name: never a path of somebody else's. */
const FILES = /^(?:control\.db|catalogs\/\d+\.db|payloads\/[\w.-]+|secret-keys)$/;

/** More are closed and opened again. */
const OPEN_FILES = 256;

/** Writes what spans say, with nobody reading. */
export class FileSet {
  private readonly root: string;
  private readonly suffix: string;
  private readonly open = new Map<string, number>();
  private readonly names = new Set<string>();

  /** @param suffix  of the names that the files have until they are whole */
  constructor(root: string, suffix = '') {
    this.root = root;
    this.suffix = suffix;
  }

  apply({ head, bytes }: Entry): void {
    if (head.kind === 'begin' || head.kind === 'gone') this.remove(head.file);
    else if (head.kind === 'pages') this.writePages(head, bytes);
    else if (head.kind === 'end') ftruncateSync(this.descriptor(head.file), head.pageCount * head.pageSize);
    else {
      if (head.at === 0) ftruncateSync(this.descriptor(head.file), 0);
      writeSync(this.descriptor(head.file), bytes, 0, bytes.length, head.at);
    }
  }

  private writePages(
    { file, pageSize, pages }: Extract<EntryHead, { kind: 'pages' }>,
    bytes: Uint8Array,
  ): void {
    const target = this.descriptor(file);
    for (let from = 0, to = 0; from < pages.length; from = to) {
      const first = pages[from] as number;
      for (to = from + 1; pages[to] === first + to - from; ) to += 1;
      writeSync(target, bytes, from * pageSize, (to - from) * pageSize, (first - 1) * pageSize);
    }
  }

  private descriptor(name: string): number {
    const known = this.open.get(name);
    if (known !== undefined) return known;
    const [oldest] = this.open.keys();
    if (this.open.size >= OPEN_FILES && oldest !== undefined) this.closeOne(oldest);
    const file = openSync(join(this.root, name + this.suffix), this.names.has(name) ? 'r+' : 'w', 0o600);
    this.open.set(name, file);
    this.names.add(name);
    return file;
  }

  private closeOne(name: string): void {
    const file = this.open.get(name);
    if (file === undefined) return;
    fsyncSync(file);
    closeSync(file);
    this.open.delete(name);
  }

  private remove(name: string): void {
    this.closeOne(name);
    this.names.delete(name);
    rmSync(join(this.root, name + this.suffix), { force: true });
  }

  /** @returns the files that are there */
  close(): string[] {
    for (const name of [...this.open.keys()]) this.closeOne(name);
    return [...this.names];
  }

  drop(): void {
    for (const name of [...this.names]) this.remove(name);
  }

  /** @returns what is in the target of each: all of it */
  describe() {
    const [databases, others]: [[string, { main: string }][], [string, string][]] = [[], []];
    for (const name of this.names) {
      const path = join(this.root, name);
      if (name.endsWith('.db')) databases.push([name, { main: stampOf(path) }]);
      else others.push([name, '']);
    }
    return { databases: Object.fromEntries(databases), others: Object.fromEntries(others) };
  }
}
