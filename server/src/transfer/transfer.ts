/**
 * The door of transfer: it moves whole stores between the embedded store and PostgreSQL, distributes one over the workers
 * of Citus, and lists the payloads that a store still needs. It reads and writes rows as they are and never knows what one
 * means.
 */
export { type DistributionOptions, distributeStore } from './distribute.ts';
export { type MoveOptions, moveStore } from './move.ts';
export { findLostTask, listNeededPayloads, listOwnedPayloads } from './owned-payloads.ts';
