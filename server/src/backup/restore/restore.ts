/** The door of restore. It fills a data directory from the timeline of a target, and it lists and checks timelines. */
export { fillFolder, restoreTimeline } from './restore-timeline.ts';
export { type BackupListing, type CheckedTimeline, listBackups, verifyTimeline } from './timeline-report.ts';
