import { createHash } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, lstat, open, opendir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Type } from 'typebox';
import { type ByteStream, tooLarge } from './byte-streams.ts';
import { compileGlob, GLOB_LENGTH, type Glob, type GlobState, globProblem } from './glob.ts';
import {
  defineSource,
  type OpenedSource,
  type SourceFile,
  SourceProblem,
  type SourceStamp,
} from './source.ts';

export const directory = defineSource({
  type: 'directory',
  title: 'DirectorySource',
  label: 'A directory of the service',
  description: 'Files in a folder of the machine that the service runs on',
  options: {
    pattern: Type.String({
      minLength: 1,
      maxLength: GLOB_LENGTH,
      'x-label': 'Files',
      description: 'below RELATA_IMPORT_DIR/<projectId>/, with *, ? and ** for folders, as in **/*.csv',
    }),
    take: Type.Optional(
      Type.Enum(['all', 'newest'], {
        description: 'all matching files in the order of their names (default), or the newest one alone',
      }),
    ),
  },
  check: ({ pattern }) => ({ pattern: globProblem(pattern) }),
  open: (source, run, { importDir, maxPackedBytes }) =>
    openDirectorySource(source, { ...run, importDir, maxBytes: maxPackedBytes }),
  describe: ({ pattern }) => `files that match ${pattern}`,
});

interface DirectorySource {
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

/** Names looked at, and files read, in one run; more is a mistake in the pattern or the folder. */
const NAMES_SEEN = 100_000;
const FILES = 1_000;

interface FoundFile {
  /** Below the folder of the project, with `/`. */
  readonly name: string;
  /** Where it is, links resolved. */
  readonly path: string;
  readonly stats: BigIntStats;
}

interface Level {
  readonly path: string;
  /** As in FoundFile, with a `/` at its end; empty for the root. */
  readonly name: string;
  readonly state: GlobState;
  /** Itself and all above, links resolved: a link to one of them is a circle. */
  readonly folders: readonly string[];
}

/**
 * @returns what matches, in the order of the names by code unit
 * @throws SourceProblem outside, for a matching link that leaves the folder; too_large
 */
async function findFiles(root: string, glob: Glob, signal: AbortSignal | undefined): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  for await (const file of walk(root, glob)) {
    signal?.throwIfAborted();
    if (file !== undefined && found.push(file) > FILES)
      throw tooMany(`has more than ${FILES} files that match`);
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Yields once for each name looked at. */
async function* walk(root: string, glob: Glob): AsyncGenerator<FoundFile | undefined> {
  const levels: Level[] = [{ path: root, name: '', state: glob.start, folders: [root] }];
  let seen = 0;
  for (let level = levels.pop(); level !== undefined; level = levels.pop()) {
    for await (const { name: last } of await opendir(level.path)) {
      if (++seen > NAMES_SEEN) throw tooMany(`holds more than ${NAMES_SEEN} files`);
      const { file, below } = await look(root, level, { last, glob });
      if (below !== undefined) levels.push(below);
      yield file;
    }
  }
}

const tooMany = (text: string) =>
  new SourceProblem('too_large', `The import folder ${text}; the pattern has to say more`);

/** @returns a matching file, or a folder that may contain one */
async function look(
  root: string,
  level: Level,
  { last, glob }: { last: string; glob: Glob },
): Promise<{ file?: FoundFile; below?: Level }> {
  const state = glob.step(level.state, last);
  const found = state && (await resolveName({ name: `${level.name}${last}`, path: join(level.path, last) }));
  if (state === undefined || found === undefined) return {};
  const { path, name, stats } = found;
  if (stats.isDirectory() && !level.folders.includes(path)) {
    checkInside(found, root);
    return { below: { path, name: `${name}/`, state, folders: [...level.folders, path] } };
  }
  return stats.isFile() && glob.isMatch(state) ? { file: checkInside(found, root) } : {};
}

/** @returns undefined for a name that leads nowhere any more, or to nothing that can be read here */
async function resolveName({ name, path }: { name: string; path: string }): Promise<FoundFile | undefined> {
  try {
    const real = await realpath(path);
    return { name, path: real, stats: await stat(real, { bigint: true }) };
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'EACCES'].includes(String((error as { code?: unknown }).code))) return undefined;
    throw error;
  }
}

/** @throws SourceProblem outside */
function checkInside(file: FoundFile, root: string): FoundFile {
  if (file.path.startsWith(root + sep)) return file;
  throw new SourceProblem('outside', `${file.name} is a link that leaves the import folder of the project`);
}
