/**
 * The door of transfer: backup and restore of whole stores, and moving them between the embedded store and
 * PostgreSQL. It reads and writes rows as they are and never knows what one means.
 */
export { createBackup, openBackup, restoreBackup } from './backup.ts';
export { findMissingIn } from './backup-manifest.ts';
export { type DistributionOptions, distributeStore } from './distribute.ts';
export { type MoveOptions, moveStore } from './move.ts';
export { listNeededPayloads } from './owned-payloads.ts';
export { restoreCatalog } from './restore-catalog.ts';
