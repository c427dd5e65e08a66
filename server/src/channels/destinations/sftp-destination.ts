import { Type } from 'typebox';
import {
  checkSftpServer,
  OutboundProblem,
  openSftp,
  sftpAddressOf,
  sftpOptions,
  sftpSecrets,
} from '../../outbound/outbound.ts';
import { checkFolder, defineDestination, folderOption, pathIn } from './destination.ts';

export const sftp = defineDestination({
  type: 'sftp',
  schema: Type.Object(
    {
      type: Type.Literal('sftp'),
      ...sftpOptions,
      folder: folderOption(
        'an existing folder: absolute with a leading /, otherwise below the login folder; the login folder if left out',
      ),
    },
    {
      ...{ additionalProperties: false, title: 'SftpDestination', 'x-label': 'A server, by SFTP' },
      description: 'A folder of a server, written by SFTP. The key of the server is pinned',
    },
  ),
  check: (sent) => ({
    ...checkSftpServer(sent),
    folder: checkFolder((sent.folder ?? '').replace(/^\//, '')),
  }),
  async open({ type: _, folder, ...server }, via) {
    const { write, remove, close } = await openSftp(server, via);
    return {
      write: (name, bytes) =>
        write(pathIn(folder, name), bytes).catch((error: unknown) => {
          if (!(error instanceof OutboundProblem && error.reason === 'no_file')) throw error;
          const text = `${server.host} has no folder ${folder}: make it there, or name another`;
          throw new OutboundProblem('no_file', text, { cause: error });
        }),
      remove: (name) => remove(pathIn(folder, name)),
      close,
    };
  },
  describe: (sent) => sftpAddressOf(sent, pathIn(sent.folder, '')),
  secrets: sftpSecrets,
  accountOf: ({ user }) => user,
});
