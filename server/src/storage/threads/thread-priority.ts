import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * Lets the serving thread run first: with fewer cores than threads the kernel gives a parsing thread its whole time slice
 * while a 1 KB answer waits. Linux has priorities per thread, and a thread's id is in /proc; elsewhere nothing changes.
 */
const ASIDE = 10;

/** Lowers the priority of the calling thread, and not of V8's own: garbage collection of the serving thread waits for those. */
export function stepAside(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), ASIDE);
  } catch {
    // Not Linux, or not permitted.
  }
}
