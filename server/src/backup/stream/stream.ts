/**
 * The door of stream: the thread of a continuous backup. It sends the changes of a data directory to a target. On a
 * standby, it follows the changes that another service sends, until the standby is promoted.
 */
export { BackupStream } from './backup-stream.ts';
export { FAILURES, type Failure } from './failures.ts';
export { promote } from './promote.ts';
export { Standby } from './standby.ts';
export { createStreamState, STATE, type StreamSettings, type StreamState } from './stream-state.ts';
