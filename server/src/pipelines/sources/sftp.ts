import { Type } from 'typebox';
import { checkSftpServer, sftpAddressOf, sftpOptions, sftpSecrets } from '../../outbound/outbound.ts';
import { GLOB_LENGTH, globProblem } from './glob.ts';
import { outboundOf } from './remote-files.ts';
import { openSftpSource } from './sftp-source.ts';
import { defineSource } from './source-record.ts';

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
