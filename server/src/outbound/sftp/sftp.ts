/** The door of sftp: reading, listing and writing files of a server whose key is pinned, over a pinned connection. */
import type { Outbound } from '../pinned-addresses.ts';
import { SftpCalls, type SftpFile } from './sftp-calls.ts';
import { listFolder, readPath, statPath } from './sftp-reading.ts';
import { openSession, type SftpServer } from './sftp-session.ts';
import { removePath, writePath } from './sftp-writing.ts';

export type { SftpName } from './sftp-calls.ts';
export { checkSftpServer, sftpAddressOf, sftpOptions, sftpSecrets } from './sftp-options.ts';
export type { SftpServer } from './sftp-session.ts';

export type Sftp = Awaited<ReturnType<typeof openSftp>>;

/** The caller closes it. @throws OutboundProblem address, connection, timeout, refused */
export async function openSftp(server: SftpServer, via: Outbound) {
  const { sftp, end } = await openSession(server, via);
  const calls = new SftpCalls(sftp, server.host, via);
  return {
    /** Follows links. @throws OutboundProblem no_file */
    stat: (path: string) => statPath(calls, path),
    /** Names of a folder, links not followed, in no order. */
    list: (folder: string) => listFolder(calls, folder),
    /** @throws OutboundProblem changed, when the file is not the one that was listed, also while it is read */
    read: (path: string, known: SftpFile) => readPath(calls, path, known),
    /** Whoever looks sees the old file or the new one, never a part; some servers show none for a moment. @returns its size */
    write: (path: string, bytes: AsyncIterable<Uint8Array>) => writePath(calls, path, bytes),
    /** One that is not there is removed already. */
    remove: (path: string) => removePath(calls, path),
    close: end,
  };
}
