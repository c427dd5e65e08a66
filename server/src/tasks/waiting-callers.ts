import { type Caller, nameCaller } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';
import { OpenCounts } from '../kernel/open-counts.ts';

/** Of one key or user. Source: docs/interface.md §8. */
const MOST_WAITING = 1_000;

/** Limits waits for tasks, by `wait` or by events: each of them is notified of every change. */
export interface WaitingCallers {
  /** @returns what ends the wait @throws too_many_waits */
  enter(caller: Caller): () => void;
}

export function createWaitingCallers(): WaitingCallers {
  const open = new OpenCounts<string>();

  return {
    enter(caller) {
      const name = nameCaller(caller);
      if (open.of(name) >= MOST_WAITING) {
        const details = [`one key or user may wait ${MOST_WAITING} times at once`];
        throw new ServiceError('too_many_waits', { details, retryAfterSeconds: 1 });
      }
      return open.begin(name);
    },
  };
}
