/**
 * The door of stream: the thread of a continuous backup. It sends what changes in a data directory to a target, or follows
 * what another service sends, until this one is promoted.
 */
export { BackupStream } from './backup-stream.ts';
export { FAILURES, type Failure } from './failures.ts';
export { promote } from './promote.ts';
export { Standby } from './standby.ts';
export { createStreamState, STATE, type StreamSettings, type StreamState } from './stream-state.ts';
