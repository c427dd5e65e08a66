import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { RateState } from '../../http/guards/guards.ts';
import type { Postgres } from '../../storage/postgres/postgres.ts';
import { countInWindow, dropEndedWindows, type RateWindow } from './api-key-store.ts';

/** Source: docs/interface §5.3. */
const WINDOW_SECONDS = 60;

/**
 * A window begins with a key's first request and ends 60 s later. The count and the limit are compared here, so a
 * changed limit applies immediately, also in the current window. Several processes count together in their database.
 * They do not use RateLimiterPostgres, because it uses the clock of each process: a process whose clock is ahead
 * would end the windows of the others (docs/decisions/0001).
 */
export function createRateLimits(postgres: Postgres | undefined) {
  const inMemory = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: WINDOW_SECONDS });

  async function countRequest(keyId: number): Promise<RateWindow> {
    if (postgres !== undefined)
      return countInWindow(postgres, { key: `key ${keyId}`, windowMs: WINDOW_SECONDS * 1000 });
    const { consumedPoints, msBeforeNext } = await inMemory.consume(keyId);
    return { count: consumedPoints, msLeft: msBeforeNext };
  }

  return {
    /** Counts one request. `remaining` is -1 if the request exceeds the limit. */
    async count(keyId: number, limit: number): Promise<RateState> {
      const { count, msLeft } = await countRequest(keyId);
      // A request that waited for the count of another may find a window that began after the request arrived.
      const resetSeconds = Math.min(WINDOW_SECONDS, Math.max(1, Math.ceil(msLeft / 1000)));
      return { limit, remaining: Math.max(limit - count, -1), resetSeconds };
    },
    /** Removes windows that have ended from the database; windows in memory expire by themselves. */
    dropEnded: async () => postgres && dropEndedWindows(postgres),
  };
}
