/**
 * The door of backup. The files beside it copy a whole data directory of one instant, check the copy, and restore it or one
 * of its catalogs. The rooms within are the continuous backup: the target, the files of a data directory, the timeline of
 * states in the target, restoring from it, and the thread that sends or follows.
 * It reads and writes rows as they are and never knows what one means.
 */
export { findMissingIn } from './backup-manifest.ts';
export { createBackup } from './create-backup.ts';
export { openBackup, restoreBackup } from './restore-backup.ts';
export { restoreCatalog } from './restore-catalog.ts';
