/**
 * The door of transfer: it moves whole stores between the embedded store and PostgreSQL, distributes a store over the
 * workers of Citus, and lists the payloads that a store needs. It copies rows without interpreting them.
 */
export { type DistributionOptions, distributeStore } from './distribute.ts';
export { type MoveOptions, moveStore } from './move.ts';
export { findLostTask, listNeededPayloads, listOwnedPayloads } from './owned-payloads.ts';
