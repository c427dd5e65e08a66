/**
 * The door of outbound: requests that the service makes to addresses that somebody gave it. The address is checked, the
 * connection goes to exactly what was checked, and waiting is limited. It never knows what is fetched or sent.
 */
export { type AllowedAddresses, allowAddresses } from './address.ts';
export { describeConnection } from './connection-problems.ts';
export { checkHttpUrl, readHttpUrl, URL_LENGTH } from './http-url.ts';
export { OutboundProblem } from './outbound-problem.ts';
export { type Resolve, sendPinned } from './pinned-request.ts';
export { createTimeouts, type Timeouts, type WaitLimits } from './timeouts.ts';
