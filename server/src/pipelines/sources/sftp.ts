import { Type } from 'typebox';
import {
  checkSftpServer,
  openSftp,
  type Sftp,
  type SftpName,
  type SftpServer,
  sftpAddressOf,
  sftpOptions,
  sftpSecrets,
} from '../../outbound/outbound.ts';
import { compileGlob, GLOB_LENGTH, type Glob, type GlobState, globProblem } from './glob.ts';
import { chooseFiles, outboundOf, type RemoteChoice, type RemoteFile, splitPattern } from './remote-files.ts';
import { defineSource, type OpenedSource, SourceProblem } from './source.ts';

export const sftp = defineSource({
  type: 'sftp',
  title: 'SftpSource',
  label: 'A server, by SFTP',
  description: 'Files of a server, read by SFTP. The key of the server is pinned',
  options: {
    ...sftpOptions,
    path: Type.String({
      ...{ minLength: 1, maxLength: GLOB_LENGTH, 'x-label': 'Files' },
      description:
        'a path with *, ? and ** for folders, as in export/*.csv; absolute with a leading /, otherwise below the login folder',
    }),
    take: Type.Optional(
      Type.Enum(['all', 'newest'], {
        description: 'all matching files in the order of their names (default), or the newest one alone',
      }),
    ),
  },
  check: (source) => ({
    ...checkSftpServer(source),
    path: globProblem(source.path.replace(/^\//, '')),
  }),
  open: (source, run, settings) =>
    openSftpSource(
      source,
      { maxBytes: settings.maxPackedBytes, last: run.last, where: sftpAddressOf(source, source.path) },
      outboundOf(settings, run),
    ),
  describe: (source) => `files that match ${sftpAddressOf(source, source.path)}`,
  secrets: sftpSecrets,
});

interface SftpSource extends SftpServer {
  /** With * and ** as patterns of a directory have; absolute with a leading /, otherwise below the login folder. */
  readonly path: string;
  readonly take?: 'all' | 'newest';
}

interface SftpRemoteFile extends RemoteFile {
  readonly modifiedAt: number;
}

type Via = Parameters<typeof openSftp>[1];

/**
 * Finds the files that match and lets them be read in the order of their names. A file that changes meanwhile fails the run.
 * @returns undefined when names, sizes and instants are those of the last run
 * @throws SourceProblem; reading throws it too
 */
async function openSftpSource(
  {
    path,
    take,
    type: _,
    entry: __,
    ...server
  }: SftpSource & { readonly type: string; readonly entry?: string },
  choice: Omit<RemoteChoice, 'take'>,
  via: Via,
): Promise<OpenedSource | undefined> {
  const sftp = await openSftp(server, via);
  try {
    const chosen = await chooseFiles(findFiles(sftp, path), { ...choice, take });
    if (chosen !== undefined) return toOpened(sftp, chosen);
    sftp.close();
    return undefined;
  } catch (error) {
    sftp.close();
    throw error;
  }
}

function toOpened(
  sftp: Sftp,
  { files, stamp }: { files: readonly SftpRemoteFile[]; stamp: OpenedSource['stamp'] },
): OpenedSource {
  return {
    files: files.map(({ name, ...file }) => ({
      ...{ name, mediaType: undefined, charset: undefined, sizeBytes: file.sizeBytes },
      bytes: sftp.read(name, file),
    })),
    stamp,
    close: async () => sftp.close(),
  };
}

interface Level {
  /** With a / at its end; empty for the login folder. */
  readonly folder: string;
  readonly state: GlobState;
}

/** Yields once for each name that was looked at; undefined for one that does not match. */
async function* findFiles(sftp: Sftp, path: string): AsyncGenerator<SftpRemoteFile | undefined> {
  const { fixed, pattern } = splitPattern(path);
  if (pattern === undefined) {
    yield await findOne(sftp, path);
    return;
  }
  const glob = compileGlob(pattern);
  const start = fixed === '' && !path.startsWith('/') ? '' : `${fixed}/`;
  const levels: Level[] = [{ folder: start, state: glob.start }];
  for (let level = levels.pop(); level !== undefined; level = levels.pop())
    for await (const name of sftp.list(level.folder || '.')) {
      const { file, below } = await look(sftp, name, { glob, level });
      if (below !== undefined) levels.push(below);
      yield file;
    }
}

/** @returns a matching file, or a folder that may contain one */
async function look(
  sftp: Sftp,
  name: SftpName,
  { glob, level }: { glob: Glob; level: Level },
): Promise<{ file?: SftpRemoteFile | undefined; below?: Level }> {
  const next = stepInto(glob, level, name.name);
  if (next === undefined) return {};
  if (name.kind === 'folder') return { below: next };
  return glob.isMatch(next.state) ? { file: await findFile(sftp, name, next) } : {};
}

/** A server may send any name; one with a / in it is no name. */
function stepInto(glob: Glob, { folder, state }: Level, name: string): Level | undefined {
  const next = name.includes('/') || name === '.' || name === '..' ? undefined : glob.step(state, name);
  return next && { folder: `${folder}${name}/`, state: next };
}

/** Links are followed to files only: links to folders may go in circles. */
async function findFile(sftp: Sftp, name: SftpName, { folder }: Level): Promise<SftpRemoteFile | undefined> {
  const path = folder.slice(0, -1);
  const found = name.kind === 'link' ? await sftp.stat(path).catch(orMissing) : { ...name, name: path };
  return found?.kind === 'file' ? found : undefined;
}

function orMissing(error: unknown): undefined {
  if (!(error instanceof SourceProblem && error.reason === 'no_file')) throw error;
}

async function findOne(sftp: Sftp, path: string): Promise<SftpRemoteFile> {
  const found = await sftp.stat(path);
  if (found.kind === 'file') return found;
  throw new SourceProblem('no_file', `${path} is no file; ${path.replace(/\/$/, '')}/* are the files in it`);
}
