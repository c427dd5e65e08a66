/**
 * The door of target: where a backup is stored. It handles objects, their entries, and how they are sealed. It never
 * interprets an object.
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
