import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { RateState } from '../http/http.ts';

/** Source: docs/interface.md §5.3. */
const WINDOW_SECONDS = 60;

export interface RateLimits {
  /** Counts one request; `remaining` is -1 when it is over the limit. */
  count(keyId: number, requestsPerMinute: number): Promise<RateState>;
}

/**
 * A window begins with a key's first request and ends 60 s later. The limit is compared here and not by the
 * limiter, so that a changed limit holds at once, within the window that runs. Each process counts for
 * itself.
 */
export function createRateLimits(): RateLimits {
  const windows = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: WINDOW_SECONDS });
  return {
    async count(keyId, requestsPerMinute) {
      const { consumedPoints, msBeforeNext } = await windows.consume(keyId);
      return {
        limit: requestsPerMinute,
        remaining: Math.max(requestsPerMinute - consumedPoints, -1),
        resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
      };
    },
  };
}
