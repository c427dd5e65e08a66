import { type BigIntStats, constants } from 'node:fs';
import { lstat, open, opendir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { Type } from 'typebox';
import type { ByteStream } from '../../formats/streams/streams.ts';
import { compileGlob, GLOB_LENGTH, globProblem } from './glob.ts';
import { type MatchingFile, openMatching, takeOption, walkFolders } from './matching-files.ts';
import { defineSource, SourceProblem } from './source.ts';

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
      description:
        'path below RELATA_IMPORT_DIR/<projectId>/, with *, ? and ** for folders, such as **/*.csv',
    }),
    take: takeOption('files in the order of their names'),
  },
  check: ({ pattern }) => ({ pattern: globProblem(pattern) }),
  /**
   * Finds the files that match, to be read in the order of their names, by code unit. A file that changes while it is
   * read fails the run. So programs should write a file under another or a hidden name, and then rename it.
   */
  async open({ pattern, take }, { projectId, last }, { importDir, maxPackedBytes: maxBytes }) {
    const root = await findFolder(importDir, projectId);
    const where = `${pattern} in the import folder of the project`;
    const read = (file: FoundFile) => readFound(file, root);
    return openMatching({ names: findFiles(root, pattern), read }, { take, maxBytes, last, where });
  },
  describe: ({ pattern }) => `files that match ${pattern}`,
});

const READ_BYTES = 256 * 1024;
/** These flags neither follow a link that replaced the file after the check, nor wait for a pipe. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

interface FoundFile extends MatchingFile {
  /** The real path, with links resolved. Its `name` is relative to the project's folder, with `/`. */
  readonly path: string;
  readonly stats: BigIntStats;
}

/** @throws SourceProblem no_file, outside */
async function findFolder(importDir: string | undefined, projectId: number): Promise<string> {
  if (importDir === undefined)
    throw new SourceProblem('no_file', 'RELATA_IMPORT_DIR is not set, so no directory is read');
  const missing = new SourceProblem('no_file', `There is no folder ${projectId} in the import directory`);
  const folder = join(await orProblem(realpath(importDir), GONE, missing), String(projectId));
  // A link here would give a project the files of another project.
  if ((await orProblem(realpath(folder), GONE, missing)) !== folder)
    throw new SourceProblem('outside', `The import folder ${projectId} is a link`);
  if (!(await stat(folder)).isDirectory()) throw missing;
  return folder;
}

const GONE = ['ENOENT', 'ENOTDIR'];
const hasCode = (error: unknown, codes: readonly string[]) =>
  codes.includes(String((error as { code?: unknown }).code));

const orProblem = <Result>(work: Promise<Result>, codes: readonly string[], problem: SourceProblem) =>
  work.catch((error: unknown): never => {
    throw hasCode(error, codes) ? problem : error;
  });

interface Folder {
  readonly path: string;
  /** Relative to the project's folder, like FoundFile, with a trailing `/`; empty for the root. */
  readonly name: string;
  /** The folder itself and all folders above, with links resolved. A link to one of them is a cycle. */
  readonly folders: readonly string[];
}

/** @throws SourceProblem outside, for a matching link that leads out of the folder */
function findFiles(root: string, pattern: string) {
  const start: Folder = { path: root, name: '', folders: [root] };
  return walkFolders(compileGlob(pattern), start, {
    async *list({ path }) {
      yield* await opendir(path);
    },
    async visit(folder, { name: last }, isMatch): Promise<{ file?: FoundFile; below?: Folder }> {
      const resolved = await resolveName(`${folder.name}${last}`, join(folder.path, last));
      if (resolved === undefined) return {};
      const { path, name, stats } = resolved;
      if (stats.isDirectory() && !folder.folders.includes(path)) {
        checkInside(resolved, root);
        return { below: { path, name: `${name}/`, folders: [...folder.folders, path] } };
      }
      return stats.isFile() && isMatch ? { file: checkInside(resolved, root) } : {};
    },
  });
}

/** @returns undefined if the name no longer exists, or if the service cannot read it */
async function resolveName(name: string, linkPath: string): Promise<FoundFile | undefined> {
  try {
    const path = await realpath(linkPath);
    const stats = await stat(path, { bigint: true });
    const { size, mtimeNs: modifiedAt } = stats;
    const mark = [String(size), String(modifiedAt)];
    return { name, path, stats, sizeBytes: Number(size), modifiedAt, mark };
  } catch (error) {
    if (hasCode(error, ['ENOENT', 'ELOOP', 'EACCES'])) return undefined;
    throw error;
  }
}

/** @throws SourceProblem outside */
function checkInside<File extends Pick<FoundFile, 'name' | 'path'>>(file: File, root: string): File {
  if (file.path.startsWith(root + sep)) return file;
  throw new SourceProblem(
    'outside',
    `${file.name} is a link that leads out of the import folder of the project`,
  );
}

/** @throws SourceProblem changed, outside */
async function* readFound(file: FoundFile, root: string): ByteStream {
  await using handle = await orChanged(open(file.path, OPEN_FLAGS), file);
  refuseOther(await handle.stat({ bigint: true }), file);
  // A folder on the path may have become a link.
  const path = await orChanged(realpath(file.path), file);
  checkInside({ name: file.name, path }, root);
  refuseOther(await orChanged(lstat(path, { bigint: true }), file), file);
  let total = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, total);
    if (bytesRead === 0) break;
    total += bytesRead;
    if (total > file.sizeBytes) throw changed(file);
    yield buffer.subarray(0, bytesRead);
  }
  refuseOther(await handle.stat({ bigint: true }), file);
}

const orChanged = <Result>(work: Promise<Result>, file: FoundFile) =>
  orProblem(work, [...GONE, 'ELOOP'], changed(file));

function refuseOther(stats: BigIntStats, file: FoundFile): void {
  const { dev, ino, size, mtimeNs } = file.stats;
  const isSame = stats.dev === dev && stats.ino === ino && stats.size === size && stats.mtimeNs === mtimeNs;
  if (!isSame) throw changed(file);
}

function changed({ name }: FoundFile): SourceProblem {
  const text = `${name} changed while it was read; write the file under another name and rename it at the end`;
  return new SourceProblem('changed', text);
}
