/**
 * The door of backup. The files beside it copy a whole data directory at one instant, check the copy, and restore it or
 * one of its catalogs. The rooms within are the continuous backup: the target, the files of a data directory, the
 * timeline of states in the target, restoring from it, and the thread that sends or follows. Backup copies rows
 * unchanged, and never interprets them.
 */
export { findMissingIn } from './backup-manifest.ts';
export { createBackup } from './create-backup.ts';
export { openBackup, restoreBackup } from './restore-backup.ts';
export { restoreCatalog } from './restore-catalog.ts';
