import fs from 'node:fs';
import { type FileHandle, link, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolders, syncFolder, syncFolderNow } from '../../storage/folder/folder.ts';
import { type ObjectStorage, VanishedTarget } from './object-storage.ts';
import { DamagedObject } from './objects.ts';

/** A directory that holds the objects of a backup. It follows, reads and writes only folders and regular files. */
export class FolderStorage implements ObjectStorage {
  private readonly root: string;
  /** Where objects are written before they get their names. */
  private readonly parts: string;
  private mark: { readonly name: string; readonly bytes: Uint8Array } | undefined;

  constructor(root: string) {
    this.root = root;
    this.parts = join(root, 'parts');
  }

  async isThere(): Promise<boolean> {
    return isFolder(this.root);
  }

  async make(): Promise<void> {
    makeFolders(this.root);
  }

  expectMark(name: string, bytes: Uint8Array | undefined): void {
    this.mark = bytes && { name, bytes };
  }

  async list(folder: string, after = ''): Promise<string[]> {
    const { root } = this;
    requireFolders(root, `${folder}/`);
    const all = readdir(join(root, folder), { recursive: true, withFileTypes: true });
    const entries = (await all.catch(this.unlessMissing)) ?? [];
    const names = entries.flatMap((entry) => {
      if (entry.isDirectory()) return [];
      const name = join(entry.parentPath, entry.name)
        .slice(root.length + 1)
        .replaceAll('\\', '/');
      if (!entry.isFile()) throw refuseIrregular(name);
      return [name];
    });
    return names.filter((name) => name > after).sort();
  }

  async read(name: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    requireFolders(this.root, name);
    const file = await openRegular(join(this.root, name), name).catch(this.unlessMissing);
    return file?.createReadStream({ highWaterMark: 1024 * 1024 });
  }

  async write(name: string, bytes: AsyncIterable<Uint8Array>, isNew = false): Promise<number | undefined> {
    this.requireMark();
    const [path, part] = [join(this.root, name), join(this.parts, name.replaceAll('/', '-'))];
    makeInside(this.root, 'parts/');
    makeInside(this.root, name);
    // A link at this path is removed, and not followed.
    await rm(part, { force: true });
    const file = await open(part, 'wx', 0o600);
    let length = 0;
    try {
      for await (const piece of bytes) length += writeNow(file.fd, piece);
      await file.sync();
    } finally {
      await file.close();
    }
    if (isNew && !(await linkNew(part, path))) return undefined;
    if (!isNew) await rename(part, path);
    await syncFolder(dirname(path));
    return length;
  }

  async remove(name: string): Promise<void> {
    requireFolders(this.root, name);
    await rm(join(this.root, name), { force: true });
  }

  /** @throws VanishedTarget for an empty mount point whose disk is not mounted, and for another disk */
  private requireMark(): void {
    const { root, mark } = this;
    if (!isFolder(root))
      throw new VanishedTarget(
        `${root} does not exist, and it is not created again: mount the disk of the backup`,
      );
    if (mark !== undefined && !isMarked(join(root, mark.name), mark.bytes))
      throw new VanishedTarget(
        `${root} is not the directory to which the backup was sent, because its file ${mark.name} is missing or different: mount the disk of the backup`,
      );
  }

  private readonly unlessMissing = (error: { code?: string }): undefined => {
    if (error.code !== 'ENOENT') throw error;
    // An object counts as missing only in a directory that itself exists.
    if (this.mark !== undefined) this.requireMark();
    return undefined;
  };
}

const isFolder = (path: string) => fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

function isMarked(path: string, bytes: Uint8Array): boolean {
  const stats = fs.lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true && stats.size === bytes.length && fs.readFileSync(path).equals(bytes);
}

const foldersOf = (root: string, name: string) =>
  name.split('/').flatMap((_, index, all) => (index === 0 ? [] : join(root, ...all.slice(0, index))));

/** @throws DamagedObject if a folder on the way to an object is a link or another kind of file */
function requireFolders(root: string, name: string): void {
  for (const path of foldersOf(root, name)) {
    const stats = fs.lstatSync(path, { throwIfNoEntry: false });
    if (stats !== undefined && !stats.isDirectory() && !stats.isFile())
      throw refuseIrregular(path.slice(root.length + 1));
  }
}

/** Makes folders below the root. The root itself must exist. */
function makeInside(root: string, name: string): void {
  requireFolders(root, name);
  for (const path of foldersOf(root, name)) {
    if (fs.existsSync(path)) continue;
    fs.mkdirSync(path, { mode: 0o700 });
    syncFolderNow(dirname(path));
  }
}

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;

/** A FIFO would block the reader, and a link could lead anywhere. */
async function openRegular(path: string, name: string): Promise<FileHandle> {
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: { code?: string }) => {
    if (error.code === 'ELOOP' || error.code === 'ENXIO') throw refuseIrregular(name);
    throw error;
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw refuseIrregular(name);
}

const refuseIrregular = (name: string) =>
  new DamagedObject(`${name} is not a regular file; a backup contains no links, FIFOs or devices: remove it`);

/**
 * Writes a piece in this thread, because passing it to another thread takes longer than writing it. Only the sync waits
 * for the disk. @returns the length of the piece
 */
function writeNow(file: number, piece: Uint8Array): number {
  for (let offset = 0; offset < piece.length; ) offset += fs.writeSync(file, piece, offset);
  return piece.length;
}

/** @returns whether the name was free */
async function linkNew(part: string, path: string): Promise<boolean> {
  try {
    await link(part, path);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(part, { force: true });
  }
}
