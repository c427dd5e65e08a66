/**
 * The door of outbound: requests that the service makes to addresses that somebody gave it. The address is checked, the
 * connection goes to exactly what was checked, and waiting is limited. It never knows what is fetched or sent.
 */
export { type AllowedAddresses, allowAddresses } from './address.ts';
export { checkHttpUrl, readHttpUrl, URL_LENGTH } from './http-url.ts';
export { OutboundProblem } from './outbound-problem.ts';
export type { Outbound, Resolve } from './pinned-addresses.ts';
export { sendPinned } from './pinned-request.ts';
export { announcedSize, readResponse } from './response-bytes.ts';
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
export { createTimeouts, type Timeouts, type WaitLimits } from './timeouts.ts';
