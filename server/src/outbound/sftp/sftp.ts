/** The door of sftp: reads, lists and writes files on a server whose key is pinned, over a pinned connection. */

export { openSftp } from './sftp-connection.ts';
export {
  checkSftpServer,
  type SftpServer,
  sftpAddressOf,
  sftpOptions,
  sftpSecrets,
} from './sftp-options.ts';
export type { SftpName, SftpSession } from './sftp-session.ts';
