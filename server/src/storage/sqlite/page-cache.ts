import { isMainThread } from 'node:worker_threads';

/**
 * The pages that the open catalogs of a thread cache in memory. SQLite limits them only per connection, and a thread
 * has up to 64 connections. With 32 MiB each, fourteen projects in ten threads used a gigabyte.
 */

/**
 * In KiB, the unit of `pragma cache_size`. The serving thread has more, because it reads the catalogs of all accounts
 * in turn.
 */
const THREAD_KIB = (isMainThread ? 64 : 16) * 1024;
const MOST_KIB = 32 * 1024;
/** Enough for the inner pages of the indexes of a million products. */
const LEAST_KIB = 1024;

/** @returns the share of each file in KiB, a power of two so that it seldom changes */
export function shareOfFile(openFiles: number, threadKib = THREAD_KIB): number {
  const even = 2 ** Math.floor(Math.log2(threadKib / Math.max(1, openFiles)));
  return Math.max(LEAST_KIB, Math.min(MOST_KIB, even));
}

/** The limit for the pages of one connection. */
export class PageCache {
  private readonly execute: (sql: string) => void;
  private share = MOST_KIB;

  constructor(execute: (sql: string) => void) {
    this.execute = execute;
  }

  /** Frees the pages beyond the share immediately. */
  limit(kib: number): void {
    if (kib === this.share) return;
    this.share = kib;
    this.execute(`pragma cache_size = -${kib}`);
  }

  /**
   * Runs a transaction with the full cache. A commit that changes more pages than fit writes them to the log early and
   * reads them again.
   */
  whole<Result>(work: () => Result): Result {
    if (this.share === MOST_KIB) return work();
    this.execute(`pragma cache_size = -${MOST_KIB}`);
    try {
      return work();
    } finally {
      this.execute(`pragma cache_size = -${this.share}`);
    }
  }
}
