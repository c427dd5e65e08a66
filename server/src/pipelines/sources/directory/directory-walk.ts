import type { BigIntStats } from 'node:fs';
import { opendir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Glob, GlobState } from '../glob.ts';
import { SourceProblem } from '../source.ts';

/** Names looked at, and files read, in one run; more is a mistake in the pattern or the folder. */
const NAMES_SEEN = 100_000;
const FILES = 1_000;

export interface FoundFile {
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
export async function findFiles(
  root: string,
  glob: Glob,
  signal: AbortSignal | undefined,
): Promise<FoundFile[]> {
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
export function checkInside(file: FoundFile, root: string): FoundFile {
  if (file.path.startsWith(root + sep)) return file;
  throw new SourceProblem('outside', `${file.name} is a link that leaves the import folder of the project`);
}
