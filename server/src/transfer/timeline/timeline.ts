/**
 * The door of timeline: the continuous backup of a data directory as one line of states, and what comes back from it. It knows
 * pages of databases and bytes of files, never what they mean. Source: docs/decisions/0034-continuous-backup.md.
 */
export {
  BackupStream,
  createStreamState,
  STATE,
  type StreamSettings,
  type StreamState,
} from './backup-stream.ts';
export { FAILURES, type Failure } from './failures.ts';
export { OtherSchema } from './followed-files.ts';
export { type BackupListing, type CheckedTimeline, listBackups, verifyTimeline } from './listing.ts';
export { fillFolder, restoreTimeline } from './restore-timeline.ts';
export { promote, Standby } from './standby.ts';
export { openTarget, type TargetSettings } from './target.ts';
