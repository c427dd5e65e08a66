/**
 * The door of outbound: requests that the service makes to addresses from outside. The address is checked, the
 * connection goes to exactly what was checked, and waiting is limited. It never knows what is fetched or sent.
 */
export { type AllowedAddresses, allowAddresses, checkHttpUrl, readHttpUrl, URL_LENGTH } from './address.ts';
export {
  createTimeouts,
  OutboundProblem,
  type OutboundReason,
  type Timeouts,
  type WaitLimits,
} from './outbound-problem.ts';
export type { Outbound, Resolve } from './pinned-addresses.ts';
export { announcedSize, readResponse, sendPinned } from './pinned-addresses.ts';
export {
  describeMasked,
  fillMembers,
  listMasked,
  MASK,
  maskMembers,
  pickSecrets,
  type SecretMembers,
} from './secret-members.ts';
