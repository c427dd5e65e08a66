import type { TargetSettings } from '../target/target.ts';
import type { Retention } from '../timeline/timeline.ts';

export interface StreamSettings extends Retention {
  readonly dataDir: string;
  readonly target: TargetSettings;
  /**
   * How many bytes may wait for an unreachable target. Beyond that, a new base copy is made when the target is back.
   */
  readonly backlogBytes: number;
  /** Interval between checks whether the target still has its base and segments. */
  readonly checkMs?: number;
}

/** Numbers that all threads may read at any time, by their index in the shared array. */
export const STATE = {
  /** Epoch milliseconds of the last segment; 0: none yet. */
  sentAt: 0,
  /** Since when the target lacks changes; 0: it lacks none. */
  behindSince: 1,
  unsentBytes: 2,
  sentBytes: 3,
  segments: 4,
  failures: 5,
  /** Why the backup fails: an index in FAILURES. */
  failure: 6,
  /** Whether another process writes to the target now. */
  isSuperseded: 7,
  /** Epoch milliseconds of the base copy with which restores begin; 0: no base copy is complete. */
  basedAt: 8,
  /** On a standby, the instant that its files have reached. */
  followedAt: 9,
  /** On a standby, whether it has become the writer. */
  isPromoted: 10,
  /** Whether changes are refused while another service takes over. */
  isHandingOver: 11,
  /** Epoch milliseconds of the last complete check of the target; 0: none yet. */
  checkedAt: 12,
  /** Whether the last check found that the base or a segment is missing. */
  isIncomplete: 13,
  /** How many checks have found this since the start. */
  gaps: 14,
} as const;

export type StreamState = Float64Array<SharedArrayBuffer>;

export const createStreamState = (): StreamState =>
  new Float64Array(new SharedArrayBuffer(8 * Object.keys(STATE).length));

/** Another service writes to the target, or the contents of the directory do not come from the target. */
export class NotTheWriter extends Error {
  override readonly name = 'NotTheWriter';
}
