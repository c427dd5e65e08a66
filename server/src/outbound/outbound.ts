/**
 * The door of outbound: requests that the service makes to addresses that somebody gave it. The address is checked, the
 * connection goes to exactly what was checked, and waiting is limited. It never knows what is fetched or sent.
 */
export { type AllowedAddresses, allowAddresses, checkHttpUrl, readHttpUrl, URL_LENGTH } from './address.ts';
export { createTimeouts, OutboundProblem, type Timeouts, type WaitLimits } from './outbound-problem.ts';
export type { Outbound, Resolve } from './pinned-addresses.ts';
export { announcedSize, readResponse, sendPinned } from './pinned-addresses.ts';
export {
  checkS3Endpoint,
  openS3,
  type S3,
  type S3Place,
  s3AccessOptions,
  s3BucketOptions,
  s3Secrets,
} from './s3/s3.ts';
export {
  describeMasked,
  fillMembers,
  listMasked,
  MASK,
  maskMembers,
  pickSecrets,
  type SecretMembers,
} from './secret-members.ts';
export {
  checkSftpServer,
  openSftp,
  type Sftp,
  type SftpName,
  type SftpServer,
  sftpAddressOf,
  sftpOptions,
  sftpSecrets,
} from './sftp/sftp.ts';
