import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: { type: 'minor' | 'major' }) => void;

const MIB = 1024 * 1024;
/** Collects once the buffers of body parts and the objects of a batch are dead, so that none is copied or promoted later. */
const YOUNG_BYTES = 4 * MIB;
/** A body that took several parts to arrive is no longer a young object. */
const ALL_BYTES = 128 * MIB;

let young = 0;
let all = 0;

/**
 * Reports that this many bytes passed through this thread. V8 does not count shared memory, so nothing else would
 * free it in time; external memory, which it counts, made it collect everything for each batch (docs/decisions/0006).
 */
export function countPassed(bytes: number): void {
  all += bytes;
  countPassedAtOnce(bytes);
}

/** The same for shared memory that is no longer needed at the end of the present turn, and so never gets old. */
export function countPassedAtOnce(bytes: number): void {
  young += bytes;
  if (young < YOUNG_BYTES) return;
  young = 0;
  const isMajor = all >= ALL_BYTES;
  if (isMajor) all = 0;
  collect({ type: isMajor ? 'major' : 'minor' });
}

/** Reports new shared memory, which only a full collection frees: the next collection due will be one. */
export function countShared(bytes: number): void {
  all += bytes;
}
