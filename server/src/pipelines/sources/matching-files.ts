/**
 * Shared by sources that read files of a directory, a server or a bucket: which matching files a run reads, and whether
 * they are new.
 */
import { createHash } from 'node:crypto';
import type { ByteStream } from '../../formats/streams/streams.ts';
import { optional } from '../../kernel/optional.ts';
import { tooLarge } from './byte-streams.ts';
import type { Glob } from './glob.ts';
import { type OpenedSource, openOrClose, SourceProblem, type SourceStamp } from './source.ts';

/** Limits of the names seen and the files read in one run. More are a mistake in the pattern or the folder. */
const NAMES_SEEN = 100_000;
const FILES = 1_000;

export interface MatchingFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly modifiedAt: number | bigint | string;
  /** Values besides the name that differ if it is another file. */
  readonly mark: readonly unknown[];
}

export interface FileChoice {
  readonly take: 'all' | 'newest' | undefined;
  readonly maxBytes: number;
  readonly last: SourceStamp | undefined;
  /** The place for messages, such as `sftp://host/path`. */
  readonly where: string;
}

/** `all`: a catalog may come in parts. `newest`: of several dated exports, only the last is read. */
export const takeOption = (files: string) =>
  optional.choice(['all', 'newest'], `all matching ${files} (default), or only the newest one`);

interface Matching<File> {
  /** All names; undefined for names that do not match. */
  readonly names: AsyncIterable<File | undefined>;
  /** Called immediately for each file to read. The file itself is opened only when reading reaches it. */
  read(file: File): ByteStream;
  close?(): void;
}

/**
 * Opens files to be read in the order of their names, by code unit. A file that changes while it is read fails the run.
 * @returns undefined if the marks of the files are the same as in `last`
 * @throws SourceProblem no_file, too_large; reading throws changed
 */
export const openMatching = <File extends MatchingFile>(
  { names, read, close = () => {} }: Matching<File>,
  choice: FileChoice,
): Promise<OpenedSource | undefined> =>
  openOrClose(close, async () => chooseFiles(await collect(names, choice.where), read, choice));

function chooseFiles<File extends MatchingFile>(
  matching: File[],
  read: Matching<File>['read'],
  { take, maxBytes, last, where }: FileChoice,
) {
  const sorted = matching.sort((a, b) => (a.name < b.name ? -1 : 1));
  const [first, ...others] = sorted;
  if (first === undefined) throw new SourceProblem('no_file', `No file matches ${where}`);
  const newest = others.reduce((best, file) => (file.modifiedAt >= best.modifiedAt ? file : best), first);
  const files = take === 'newest' ? [newest] : sorted;
  if (files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) > maxBytes)
    throw tooLarge('The total size of the matching files', maxBytes);
  const marks = JSON.stringify(files.map(({ name, mark }) => [name, ...mark]));
  const digest = createHash('sha256').update(marks).digest('hex');
  if (last?.files === digest) return undefined;
  const toRead = files.map((file) => ({ name: file.name, sizeBytes: file.sizeBytes, bytes: read(file) }));
  return { files: toRead, stamp: { files: digest } };
}

async function collect<File>(names: AsyncIterable<File | undefined>, where: string): Promise<File[]> {
  const matching: File[] = [];
  let nameCount = 0;
  for await (const file of names) {
    nameCount += 1;
    if (file !== undefined) matching.push(file);
    if (nameCount <= NAMES_SEEN && matching.length <= FILES) continue;
    const most = nameCount > NAMES_SEEN ? NAMES_SEEN : FILES;
    const text = `${where} leads to more than ${most} files; use a more specific pattern`;
    throw new SourceProblem('too_large', text);
  }
  return matching;
}

interface Folders<Folder, Name, File> {
  list(folder: Folder): AsyncIterable<Name>;
  /** @returns a file if the name's path matches, or a folder that may contain one */
  visit(folder: Folder, name: Name, isMatch: boolean): Promise<{ file?: File | undefined; below?: Folder }>;
}

/** Yields once for each name that was seen; undefined for a name that does not match. */
export async function* walkFolders<Folder, Name extends { readonly name: string }, File>(
  glob: Glob,
  root: Folder,
  { list, visit }: Folders<Folder, Name, File>,
): AsyncGenerator<File | undefined> {
  const levels = [{ folder: root, state: glob.start }];
  for (let level = levels.pop(); level !== undefined; level = levels.pop())
    for await (const name of list(level.folder)) {
      const state = glob.step(level.state, name.name);
      const visited = state && (await visit(level.folder, name, glob.isMatch(state)));
      if (state && visited?.below !== undefined) levels.push({ folder: visited.below, state });
      yield visited?.file;
    }
}
