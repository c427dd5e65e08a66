import { RelataError } from '@relata/client';

/**
 * For a change that was sent with If-Match: what somebody else has changed meanwhile is told in words.
 * @throws always: those words, or the reason as it is
 */
export const refuseStale =
  (what: string) =>
  (reason: unknown): never => {
    if (!(reason instanceof RelataError && reason.status === 412)) throw reason;
    throw new Error(
      `Somebody else has changed this ${what} meanwhile. Open it again in another tab to see their version.`,
    );
  };
