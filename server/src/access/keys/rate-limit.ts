import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { RateState } from '../../http/guards/guards.ts';
import type { Postgres } from '../../storage/postgres/postgres.ts';
import { countInWindow, dropEndedWindows, type RateWindow } from './rate-window-store.ts';

/** Source: docs/interface.md §5.3. */
const WINDOW_SECONDS = 60;

interface Windows {
  count(keyId: number): Promise<RateWindow>;
  /** Forgets windows that are over, where they do not go by themselves. */
  dropEnded(): Promise<void>;
}

/**
 * A window begins with a key's first request and ends 60 s later. The limit is compared here and not where it is
 * counted, so that a changed limit holds at once, within the window that runs. Where several processes serve, they
 * count together, in their database.
 */
export function createRateLimits(postgres: Postgres | undefined) {
  const windows = postgres === undefined ? countHere() : countTogether(postgres);
  return {
    /** Counts one request; `remaining` is -1 when it is over the limit. */
    async count(keyId: number, requestsPerMinute: number): Promise<RateState> {
      const { count, msLeft } = await windows.count(keyId);
      // A request that waited for another's count can find a window that began after it.
      const resetSeconds = Math.min(WINDOW_SECONDS, Math.max(1, Math.ceil(msLeft / 1000)));
      return {
        limit: requestsPerMinute,
        remaining: Math.max(requestsPerMinute - count, -1),
        resetSeconds,
      };
    },
    dropEnded: windows.dropEnded,
  };
}

function countHere(): Windows {
  const windows = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: WINDOW_SECONDS });
  return {
    async count(keyId) {
      const { consumedPoints, msBeforeNext } = await windows.consume(keyId);
      return { count: consumedPoints, msLeft: msBeforeNext };
    },
    dropEnded: async () => {},
  };
}

/** Not by RateLimiterPostgres: it goes by the clock of each process, so a clock that is ahead would end the windows of others (docs/decisions/0001). */
function countTogether(postgres: Postgres): Windows {
  return {
    count: (keyId) => countInWindow(postgres, { key: `key ${keyId}`, windowMs: WINDOW_SECONDS * 1000 }),
    dropEnded: () => dropEndedWindows(postgres),
  };
}
