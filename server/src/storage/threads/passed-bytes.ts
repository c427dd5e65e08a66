import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: { type: 'minor' | 'major' }) => void;

const MIB = 1024 * 1024;
/**
 * A collection is due after this many bytes: the buffers of body parts and the objects of a batch are then dead, so
 * none is copied or promoted later.
 */
const YOUNG_BYTES = 4 * MIB;
/**
 * After this many bytes the collection is a full one, because a body that took several parts to arrive is no longer
 * young.
 */
const ALL_BYTES = 128 * MIB;

let young = 0;
let all = 0;

/**
 * Reports that this many bytes passed through this thread. V8 does not count shared memory, so nothing else would free
 * it in time. It does count external memory, and therefore collected the whole heap for each batch
 * (docs/decisions/0006).
 */
export function countPassed(bytes: number): void {
  all += bytes;
  countPassedAtOnce(bytes);
}

/** Like `countPassed`, for shared memory that is not needed after this turn and therefore never becomes old. */
export function countPassedAtOnce(bytes: number): void {
  young += bytes;
  if (young < YOUNG_BYTES) return;
  young = 0;
  const isMajor = all >= ALL_BYTES;
  if (isMajor) all = 0;
  collect({ type: isMajor ? 'major' : 'minor' });
}

/** Reports new shared memory, which only a full collection frees. It brings the next full collection closer. */
export function countShared(bytes: number): void {
  all += bytes;
}
