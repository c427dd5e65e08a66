/**
 * The door of outbound: requests that the service makes to outside addresses. The address is checked, the
 * connection goes to exactly what was checked, and waiting is limited. It never knows what is fetched or sent.
 */
export * from './address.ts';
export * from './outbound-problem.ts';
export * from './pinned-addresses.ts';
export * from './secret-members.ts';
