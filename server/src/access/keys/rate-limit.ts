import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { RateState } from '../../http/guards/guards.ts';
import type { Postgres } from '../../storage/postgres/postgres.ts';
import { countInWindow, dropEndedWindows, type RateWindow } from './api-key-store.ts';

/** Source: docs/interface §5.3. */
const WINDOW_SECONDS = 60;

/**
 * A window begins with a key's first request and ends 60 s later. The limit is compared here and not where
 * requests are counted, so that a changed limit applies at once, within the current window. Where several
 * processes serve, they count together, in their database; not by RateLimiterPostgres, which uses the clock
 * of each process, so that one that is ahead would end the windows of others (docs/decisions/0001).
 */
export function createRateLimits(postgres: Postgres | undefined) {
  const here = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: WINDOW_SECONDS });

  async function countRequest(keyId: number): Promise<RateWindow> {
    if (postgres !== undefined)
      return countInWindow(postgres, { key: `key ${keyId}`, windowMs: WINDOW_SECONDS * 1000 });
    const { consumedPoints, msBeforeNext } = await here.consume(keyId);
    return { count: consumedPoints, msLeft: msBeforeNext };
  }

  return {
    /** Counts one request; `remaining` is -1 if it exceeds the limit. */
    async count(keyId: number, limit: number): Promise<RateState> {
      const { count, msLeft } = await countRequest(keyId);
      // A request that waited for another's count may find a window that began after it did.
      const resetSeconds = Math.min(WINDOW_SECONDS, Math.max(1, Math.ceil(msLeft / 1000)));
      return { limit, remaining: Math.max(limit - count, -1), resetSeconds };
    },
    /** Removes windows that have ended; those of this process expire by themselves. */
    dropEnded: async () => postgres && dropEndedWindows(postgres),
  };
}
