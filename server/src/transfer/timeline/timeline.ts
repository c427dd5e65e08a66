/**
 * The door of timeline: the continuous backup of a data directory as one line of states, and restoring from it. It knows
 * pages of databases and bytes of files, never what they mean. Source: docs/decisions/0034-continuous-backup.md.
 */
export { type BackupStream, createBackupStream } from './backup-stream.ts';
export { FAILURES, type Failure } from './failures.ts';
export { OtherSchema } from './followed-files.ts';
export {
  type BackupListing,
  type CheckedTimeline,
  fillFolder,
  listBackups,
  restoreTimeline,
  verifyTimeline,
} from './restore-timeline.ts';
export { createStandby, promote, type Standby } from './standby.ts';
export { createStreamState, STATE, type StreamSettings, type StreamState } from './stream-state.ts';
export { openExisting, openTarget, type TargetSettings } from './target.ts';
export { inspectTarget } from './target-check.ts';
