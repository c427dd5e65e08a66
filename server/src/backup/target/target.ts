/**
 * The door of target: where a backup is stored. It knows objects, their entries, and how they are sealed, never what an
 * object means.
 */
export {
  type BackupTarget,
  IDENTITY,
  makeBackupId,
  openExisting,
  openTarget,
  type TargetSettings,
} from './backup-target.ts';
export { VanishedTarget } from './object-storage.ts';
export { DamagedObject, ENTRY_BYTES, type Entry, type EntryHead, UnauthenticatedObject } from './objects.ts';
