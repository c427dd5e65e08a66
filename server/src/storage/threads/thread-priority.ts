import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * The thread that answers lookups goes first: where processors are fewer than threads, the kernel otherwise gives a
 * parsing thread its whole time slice while a 1 KB answer waits. Linux counts priorities per thread, and a thread's
 * own id is in /proc. Elsewhere nothing is changed, and the threads share the processors evenly.
 */
const ASIDE = 10;

/** The calling thread steps aside. V8's own threads do not: the serving thread waits for them when it collects. */
export function stepAside(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), ASIDE);
  } catch {
    // Not Linux, or not permitted.
  }
}
