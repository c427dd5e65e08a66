/**
 * The door of outbound: requests that the service sends to outside addresses. Each address is checked, the connection
 * goes to exactly the checked address, and waiting is limited. Outbound does not interpret what it fetches or sends.
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
