import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { FileBytes } from './file-bytes.ts';
import { type JournalRecord, readJournal } from './journal.ts';

/**
 * A disk that preserves everything synced and may lose everything else: bytes written since the last fsync of the file,
 * and folder entries changed since the last fsync of the folder, each independently. A power cut leaves any part of the
 * unsynced changes, and may tear writes between two sectors. No file system preserves less.
 */

class FileNode {
  readonly synced: FileBytes;
  /** Changes since the last fsync, in order. */
  unsynced: FileChange[] = [];

  constructor(bytes?: Uint8Array) {
    this.synced = new FileBytes(bytes);
  }

  sync(): void {
    for (const change of this.unsynced) applyChange(this.synced, change);
    this.unsynced = [];
  }
}

type FileChange = Pick<JournalRecord, 'position' | 'data'> & { readonly kind: 'write' | 'truncate' };

class FolderNode {
  readonly seen: Entries = new Map();
  readonly synced: Entries = new Map();
}

type Node = FileNode | FolderNode;
type Entries = Map<string, Node>;

interface Entry {
  readonly folder: FolderNode;
  readonly name: string;
  readonly node: Node;
}

/** A change of one folder, or of two by a rename, which takes effect completely or not at all. */
interface EntryChange {
  readonly removed?: Entry;
  readonly added?: Entry;
}

/** Paths with the bytes of files; undefined: a folder. */
export type DiskState = ReadonlyMap<string, Buffer | undefined>;

/** The part of the unsynced changes that a power cut leaves. */
export type Leaves = 'nothing' | 'the first changes' | 'any changes';

export class SimulatedDisk {
  readonly root: string;
  readonly journal: string;
  private rootNode = new FolderNode();
  private inodes = new Map<bigint, Node>();
  private unsynced: EntryChange[] = [];
  private bytesRead = 0;

  /** @param root a folder whose present content counts as synced */
  constructor(root: string, journal: string) {
    this.root = root;
    this.journal = journal;
    writeFileSync(journal, '');
    this.load(readState(root));
  }

  /** Settings of a process whose writes are recorded. */
  settings(layer: string): Record<string, string> {
    return {
      LD_PRELOAD: layer,
      RELATA_TEST_POWER_ROOT: this.root,
      RELATA_TEST_POWER_JOURNAL: this.journal,
      UV_USE_IO_URING: '0',
    };
  }

  /**
   * Applies the calls recorded since the last time. @param stopAt maximum number of records
   * @returns the number of applied records
   */
  follow(stopAt = Number.POSITIVE_INFINITY): number {
    let count = 0;
    for (const record of readJournal(readFileSync(this.journal).subarray(this.bytesRead))) {
      if (count === stopAt) break;
      this.take(record);
      count += 1;
      this.bytesRead += record.length;
    }
    return count;
  }

  /** The number of records that are not applied yet. */
  countRecords(): number {
    return [...readJournal(readFileSync(this.journal).subarray(this.bytesRead))].length;
  }

  /** The state that all processes see while the power is on. */
  current(): DiskState {
    return listState(
      this.rootNode,
      (folder) => folder.seen,
      (file) => {
        const bytes = new FileBytes(file.synced.bytes());
        for (const change of file.unsynced) applyChange(bytes, change);
        return bytes;
      },
    );
  }

  /** @returns a state that a power cut at this moment can leave */
  leave(leaves: Leaves, random: () => number): DiskState {
    const entries = new Map<FolderNode, Entries>();
    const entriesOf = (folder: FolderNode) => {
      const durable = entries.get(folder) ?? new Map(folder.synced);
      entries.set(folder, durable);
      return durable;
    };
    for (const change of choose(this.unsynced, leaves, random)) applyEntry(change, entriesOf);
    return listState(this.rootNode, entriesOf, (file) => tearFile(file, leaves, random));
  }

  /** Makes a state the real content of the disk. No process may be running. */
  become(state: DiskState): void {
    for (const name of readdirSync(this.root)) rmSync(join(this.root, name), { recursive: true });
    for (const [name, bytes] of state) {
      const path = join(this.root, name);
      if (bytes === undefined) mkdirSync(path, { mode: 0o700 });
      else writeFileSync(path, bytes, { mode: 0o600 });
    }
    writeFileSync(this.journal, '');
    this.load(state);
  }

  private load(state: DiskState): void {
    this.rootNode = new FolderNode();
    this.inodes = new Map();
    this.unsynced = [];
    this.bytesRead = 0;
    for (const [name, bytes] of state) {
      const { folder, name: last } = this.locate(join(this.root, name));
      const node = bytes === undefined ? new FolderNode() : new FileNode(bytes);
      folder.seen.set(last, node);
      folder.synced.set(last, node);
    }
  }

  private take(record: JournalRecord): void {
    const { kind, inode, from, to } = record;
    switch (kind) {
      case 'open':
        this.inodes.set(inode, this.find(from));
        return;
      case 'create':
        this.inodes.set(inode, this.add(from, new FileNode()));
        return;
      case 'mkdir':
        this.add(from, new FolderNode());
        return;
      case 'rename':
        this.change({ removed: this.entry(from), added: { ...this.locate(to), node: this.find(from) } });
        return;
      case 'unlink':
        this.change({ removed: this.entry(from) });
        return;
      default:
        this.takeBytes({ ...record, kind });
    }
  }

  private takeBytes({
    kind,
    inode,
    position,
    data,
  }: JournalRecord & { kind: 'write' | 'truncate' | 'sync' }): void {
    const node = this.inodes.get(inode);
    if (node instanceof FolderNode) this.syncFolder(node);
    else if (kind === 'sync') node?.sync();
    else node?.unsynced.push({ kind, position, data });
  }

  private add(path: string, node: Node): Node {
    this.change({ added: { ...this.locate(path), node } });
    return node;
  }

  private entry(path: string): Entry {
    return { ...this.locate(path), node: this.find(path) };
  }

  private change(change: EntryChange): void {
    applyEntry(change, (folder) => folder.seen);
    this.unsynced.push(change);
  }

  private syncFolder(folder: FolderNode): void {
    const isOf = ({ added, removed }: EntryChange) => added?.folder === folder || removed?.folder === folder;
    for (const change of this.unsynced.filter(isOf)) applyEntry(change, ({ synced }) => synced);
    this.unsynced = this.unsynced.filter((change) => !isOf(change));
  }

  private find(path: string): Node {
    if (path === this.root) return this.rootNode;
    const { folder, name } = this.locate(path);
    const node = folder.seen.get(name);
    assert.ok(node, `the journal made ${path}`);
    return node;
  }

  private locate(path: string): { folder: FolderNode; name: string } {
    const folder = this.find(dirname(path));
    assert.ok(folder instanceof FolderNode, dirname(path));
    return { folder, name: basename(path) };
  }
}

function applyChange(bytes: FileBytes, { kind, position, data }: FileChange): void {
  if (kind === 'write') bytes.write(position, data);
  else bytes.resize(position);
}

function applyEntry({ removed, added }: EntryChange, entriesOf: (folder: FolderNode) => Entries): void {
  if (removed !== undefined) {
    const entries = entriesOf(removed.folder);
    if (entries.get(removed.name) === removed.node) entries.delete(removed.name);
  }
  if (added !== undefined) entriesOf(added.folder).set(added.name, added.node);
}

function choose<Change>(changes: readonly Change[], leaves: Leaves, random: () => number): readonly Change[] {
  if (leaves === 'nothing') return [];
  if (leaves === 'the first changes') return changes.slice(0, Math.floor(random() * (changes.length + 1)));
  const share = random();
  return changes.filter(() => random() < share);
}

function tearFile(file: FileNode, leaves: Leaves, random: () => number): FileBytes {
  const bytes = new FileBytes(file.synced.bytes());
  const survivors = choose(file.unsynced, leaves, random);
  if (leaves !== 'any changes') {
    for (const change of survivors) applyChange(bytes, change);
    return bytes;
  }
  const whole = new Set(survivors);
  for (const change of file.unsynced) {
    const share = random() < WHOLE_WRITES ? 1 : 0.5;
    tear(bytes, change, { share: whole.has(change) ? share : 0, random });
  }
  return bytes;
}

/** The share of surviving writes that are not torn. */
const WHOLE_WRITES = 0.7;
const SECTOR_BYTES = [512, 4_096];

/** Keeps only some sectors of a write. A file system may store the size of a file without its bytes. */
function tear(
  bytes: FileBytes,
  change: FileChange,
  { share, random }: { share: number; random: () => number },
): void {
  const { kind, position, data } = change;
  if (kind === 'truncate') {
    if (share > 0) applyChange(bytes, change);
    return;
  }
  const sector = SECTOR_BYTES[Math.floor(random() * SECTOR_BYTES.length)] ?? 512;
  for (let start = 0; start < data.length; ) {
    const end = Math.min(data.length, start + sector - ((position + start) % sector));
    if (random() < share) bytes.write(position + start, data.subarray(start, end));
    start = end;
  }
  if (random() < 0.2) bytes.resize(Math.max(bytes.size, position + data.length));
}

function listState(
  root: FolderNode,
  entriesOf: (folder: FolderNode) => Entries,
  bytesOf: (file: FileNode) => FileBytes,
): DiskState {
  const state = new Map<string, Buffer | undefined>();
  const walk = (folder: FolderNode, path: string) => {
    for (const [name, node] of entriesOf(folder)) {
      const target = join(path, name);
      if (node instanceof FolderNode) {
        state.set(target, undefined);
        walk(node, target);
      } else state.set(target, bytesOf(node).bytes());
    }
  };
  walk(root, '');
  return state;
}

/** The real content, without WAL indexes, which SQLite rebuilds after a crash. */
export function readState(root: string): DiskState {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(({ name }) => !name.endsWith('-shm'))
    .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  return new Map(
    entries.map(({ entry, path }) => [
      path.slice(root.length + 1),
      entry.isDirectory() ? undefined : readFileSync(path),
    ]),
  );
}
