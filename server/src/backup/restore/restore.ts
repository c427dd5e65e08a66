/** The door of restore: a data directory is filled from the timeline of a target, which is listed and checked here too. */
export {
  type BackupListing,
  type CheckedTimeline,
  fillFolder,
  listBackups,
  readSpanObject,
  restoreTimeline,
  verifyTimeline,
} from './restore-timeline.ts';
