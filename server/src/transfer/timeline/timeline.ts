/**
 * The door of timeline: the continuous backup of a data directory as one line of states, and restoring from it. It knows
 * pages of databases and bytes of files, never what they mean. Source: docs/decisions/0034-continuous-backup.md.
 */
export * from './backup-stream.ts';
export * from './failures.ts';
export * from './followed-files.ts';
export * from './restore-timeline.ts';
export * from './standby.ts';
export * from './target.ts';
