import { Type } from 'typebox';
import {
  checkSftpServer,
  openSftp,
  type SftpName,
  type SftpSession,
  sftpAddressOf,
  sftpOptions,
  sftpSecrets,
} from '../../outbound/sftp/sftp.ts';
import { compileGlob, GLOB_LENGTH, globProblem } from './glob.ts';
import { type MatchingFile, openMatching, takeOption, walkFolders } from './matching-files.ts';
import { defineSource, outboundOf, SourceProblem } from './source.ts';

export const sftp = defineSource({
  type: 'sftp',
  title: 'SftpSource',
  label: 'A server, by SFTP',
  description: 'Files of a server, read by SFTP. The key of the server is pinned',
  options: {
    ...sftpOptions,
    path: Type.String({
      minLength: 1,
      maxLength: GLOB_LENGTH,
      'x-label': 'Files',
      description:
        'a path with *, ? and ** for folders, such as export/*.csv; absolute with a leading /, otherwise below the login folder',
    }),
    take: takeOption('files in the order of their names'),
  },
  check: (source) => ({ ...checkSftpServer(source), path: globProblem(source.path.replace(/^\//, '')) }),
  async open({ type: _, entry: __, path, take, ...server }, run, settings) {
    const where = sftpAddressOf(server, path);
    const choice = { take, maxBytes: settings.maxPackedBytes, last: run.last, where };
    const sftp = await openSftp(server, outboundOf(settings));
    const read = (file: SftpFile) => sftp.read(file.name, file);
    return openMatching({ names: findFiles(sftp, path), read, close: sftp.close }, choice);
  },
  describe: (source) => `files that match ${sftpAddressOf(source, source.path)}`,
  secrets: sftpSecrets,
});

type SftpFile = MatchingFile & { readonly modifiedAt: number };

/** Yields once for each name; undefined for a name that does not match. */
async function* findFiles(sftp: SftpSession, path: string): AsyncGenerator<SftpFile | undefined> {
  const names = path.split('/');
  const firstWild = names.findIndex((name) => /[*?]/.test(name));
  if (firstWild < 0) return yield await findOne(sftp, path);
  const fixed = names.slice(0, firstWild).join('/');
  // A folder has a trailing /, and the login folder is empty.
  const start = fixed === '' && !path.startsWith('/') ? '' : `${fixed}/`;
  yield* walkFolders(compileGlob(names.slice(firstWild).join('/')), start, {
    list: (folder) => sftp.list(folder || '.'),
    async visit(folder, entry: SftpName, isMatch): Promise<{ file?: SftpFile | undefined; below?: string }> {
      const { name, kind } = entry;
      // A server may send any name. A name with a / is invalid.
      if (name.includes('/') || name === '.' || name === '..') return {};
      if (kind === 'folder') return { below: `${folder}${name}/` };
      return isMatch ? { file: await findFile(sftp, entry, folder + name) } : {};
    },
  });
}

/** Follows links to files only, because links to folders may form cycles. */
async function findFile(sftp: SftpSession, entry: SftpName, name: string): Promise<SftpFile | undefined> {
  const orMissing = (error: unknown): undefined => {
    if (!(error instanceof SourceProblem && error.reason === 'no_file')) throw error;
  };
  const file = entry.kind === 'link' ? await sftp.stat(name).catch(orMissing) : { ...entry, name };
  return file?.kind === 'file' ? markFile(file) : undefined;
}

async function findOne(sftp: SftpSession, path: string): Promise<SftpFile> {
  const entry = await sftp.stat(path);
  if (entry.kind === 'file') return markFile(entry);
  throw new SourceProblem(
    'no_file',
    `${path} is not a file; use ${path.replace(/\/$/, '')}/* for the files in it`,
  );
}

const markFile = (file: SftpName): SftpFile => ({
  ...file,
  mark: [file.sizeBytes, file.modifiedAt, undefined],
});
