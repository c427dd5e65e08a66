/** The door of restore: a data directory is filled from the timeline of a target, which is listed and checked here too. */
export { fillFolder, restoreTimeline } from './restore-timeline.ts';
export { type BackupListing, type CheckedTimeline, listBackups, verifyTimeline } from './timeline-report.ts';
