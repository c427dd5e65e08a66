/**
 * The door of outbound: requests that the service makes to outside addresses. The address is checked, the
 * connection goes to exactly what was checked, and waiting is limited. It never knows what is fetched or sent.
 */
export {
  type AllowedAddresses,
  allowAddresses,
  checkHttpUrl,
  ipv6WordsOf,
  readHttpUrl,
  URL_LENGTH,
} from './address.ts';
export {
  createTimeouts,
  OutboundProblem,
  type OutboundReason,
  type Timeouts,
  type WaitLimits,
} from './outbound-problem.ts';
export { announcedSize, type Outbound, type Resolve, readResponse, sendPinned } from './pinned-addresses.ts';
export {
  describeMasked,
  fillMembers,
  listMasked,
  MASK,
  maskMembers,
  pickSecrets,
  type SecretMembers,
} from './secret-members.ts';
