import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const MIB = 1024 * 1024;
/** The buffers of a part of a body, and the objects of a batch, are dead: collected now, none is copied or promoted later. */
const YOUNG_BYTES = 4 * MIB;
/** A body that took several parts to arrive is no young object any more. */
const ALL_BYTES = 128 * MIB;

let young = 0;
let all = 0;

/** The same of shared memory that is needed no more when the present turn ends: it never gets old. */
export function countPassedAtOnce(bytes: number): void {
  young += bytes;
  if (young < YOUNG_BYTES) return;
  young = 0;
  const isMajor = all >= ALL_BYTES;
  if (isMajor) all = 0;
  collect({ type: isMajor ? 'major' : 'minor' });
}

/**
 * Says that so many bytes passed through this thread. V8 does not count shared memory, so nothing else would free it in time;
 * external memory, which it counts, made it collect everything for each batch (docs/decisions/0006).
 */
export function countPassed(bytes: number): void {
  countAllocated(bytes);
  countPassedAtOnce(bytes);
}

/** Says that so many bytes of shared memory were made, which only a full collection frees; the next one that is due is. */
export function countAllocated(bytes: number): void {
  all += bytes;
}

const collect = exposeCollector();

function exposeCollector(): (options: { type: 'minor' | 'major' }) => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as (options: { type: 'minor' | 'major' }) => void;
}
