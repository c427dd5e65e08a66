/** Temporary failures: the same request may succeed a moment later. Source: docs/interface §7.4, §5.3. */
const PASSING: readonly number[] = [408, 429, 502, 503, 504];
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 60_000;

export const isPassing = (status: number): boolean => PASSING.includes(status);

/**
 * The wait before a repetition: the time that the service names, or else twice as long each time, with a random part so
 * that many callers do not repeat at the same moment.
 */
export function pauseBefore(repetition: number, retryAfterSeconds?: number): number {
  if (retryAfterSeconds !== undefined) return Math.min(retryAfterSeconds * 1000, LONGEST_PAUSE_MS);
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** (repetition - 1), LONGEST_PAUSE_MS);
  return longest / 2 + (Math.random() * longest) / 2;
}

/** @throws the reason of the signal if it aborts */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
