import { createHash } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type ByteStream, tooLarge } from '../byte-streams.ts';
import { compileGlob } from '../glob.ts';
import { type OpenedSource, type SourceFile, SourceProblem, type SourceStamp } from '../source.ts';
import { checkInside, type FoundFile, findFiles } from './directory-walk.ts';

export interface DirectorySource {
  /** Below the folder of the project (`glob.ts`). */
  readonly pattern: string;
  /** `all`, the default: a catalog may come in parts. `newest`: of dated exports only the last one counts. */
  readonly take?: 'all' | 'newest';
}

export interface DirectoryRun {
  /** Holds a folder for each project, named by its id; undefined: no directory is read. */
  readonly importDir: string | undefined;
  readonly projectId: number;
  /** Of all files together. */
  readonly maxBytes: number;
  readonly last?: SourceStamp | undefined;
  readonly signal?: AbortSignal | undefined;
}

const READ_BYTES = 256 * 1024;
/** A link that was put in the place of the file after the check is not followed, and a pipe is not waited for. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Finds the files that match and lets them be read in the order of their names, by code unit. A file that changes while
 * it is read fails the run: whoever writes one does so under another name, or a hidden one, and then renames it.
 * @returns undefined when names, sizes and instants are those of `last`
 * @throws SourceProblem no_file, outside, too_large; reading throws changed
 */
export async function openDirectorySource(
  { pattern, take = 'all' }: DirectorySource,
  run: DirectoryRun,
): Promise<OpenedSource | undefined> {
  const root = await findFolder(run);
  const found = await findFiles(root, compileGlob(pattern), run.signal);
  if (found.length === 0)
    throw new SourceProblem('no_file', `No file in the import folder of the project matches ${pattern}`);
  const chosen = take === 'newest' ? [pickNewest(found)] : found;
  const total = chosen.reduce((sum, { stats }) => sum + stats.size, 0n);
  if (total > BigInt(run.maxBytes)) throw tooLarge('What matches the pattern', run.maxBytes);
  const stamp = { files: digestOf(chosen) };
  if (run.last?.files === stamp.files) return undefined;
  return { files: chosen.map((file) => toSourceFile(file, root, run.signal)), stamp, close: async () => {} };
}

async function findFolder({ importDir, projectId }: DirectoryRun): Promise<string> {
  if (importDir === undefined)
    throw new SourceProblem('no_file', 'RELATA_IMPORT_DIR is not set, so no directory is read');
  const missing = `There is no folder ${projectId} in the import directory`;
  const folder = await orMissing(async () => join(await realpath(importDir), String(projectId)), missing);
  const real = await orMissing(() => realpath(folder), missing);
  // A link here would give a project the files of another one.
  if (real !== folder) throw new SourceProblem('outside', `The import folder ${projectId} is a link`);
  if (!(await stat(folder)).isDirectory()) throw new SourceProblem('no_file', missing);
  return folder;
}

async function orMissing<Result>(work: () => Promise<Result>, text: string): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const isMissing = ['ENOENT', 'ENOTDIR'].includes(String((error as { code?: unknown }).code));
    throw isMissing ? new SourceProblem('no_file', text, { cause: error }) : error;
  }
}

function pickNewest(found: readonly FoundFile[]): FoundFile {
  return found.reduce((newest, file) => (file.stats.mtimeNs >= newest.stats.mtimeNs ? file : newest));
}

function digestOf(files: readonly FoundFile[]): string {
  const rows = files.map(({ name, stats }) => [name, String(stats.size), String(stats.mtimeNs)]);
  return createHash('sha256').update(JSON.stringify(rows)).digest('hex');
}

function toSourceFile(file: FoundFile, root: string, signal: AbortSignal | undefined): SourceFile {
  return {
    name: file.name,
    mediaType: undefined,
    charset: undefined,
    sizeBytes: Number(file.stats.size),
    bytes: readFound(file, root, signal),
  };
}

async function* readFound(file: FoundFile, root: string, signal: AbortSignal | undefined): ByteStream {
  const handle = await orChanged(() => open(file.path, OPEN_FLAGS), file);
  try {
    await checkOpened(handle, file, root);
    let total = 0;
    for (;;) {
      signal?.throwIfAborted();
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, total);
      if (bytesRead === 0) break;
      total += bytesRead;
      if (total > file.stats.size) throw changed(file);
      yield buffer.subarray(0, bytesRead);
    }
    if (isOther(await handle.stat({ bigint: true }), file)) throw changed(file);
  } finally {
    await handle.close();
  }
}

/** What was opened is what was found, and it is still inside: a folder on the way may have become a link. */
async function checkOpened(handle: FileHandle, file: FoundFile, root: string): Promise<void> {
  if (isOther(await handle.stat({ bigint: true }), file)) throw changed(file);
  const real = await orChanged(() => realpath(file.path), file);
  checkInside({ ...file, path: real }, root);
  if (isOther(await orChanged(() => lstat(real, { bigint: true }), file), file)) throw changed(file);
}

async function orChanged<Result>(work: () => Promise<Result>, file: FoundFile): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const isGone = ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(String((error as { code?: unknown }).code));
    throw isGone ? changed(file) : error;
  }
}

function isOther(stats: BigIntStats, { stats: found }: FoundFile): boolean {
  const isSameFile = stats.dev === found.dev && stats.ino === found.ino;
  return !isSameFile || stats.size !== found.size || stats.mtimeNs !== found.mtimeNs;
}

const changed = ({ name }: FoundFile) =>
  new SourceProblem(
    'changed',
    `${name} changed while it was read; write under another name and rename at the end`,
  );
