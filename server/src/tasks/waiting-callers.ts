import { type Caller, nameCaller } from '../kernel/caller.ts';
import { ServiceError } from '../kernel/errors.ts';

/** Of one key or user. Source: docs/interface.md §8. */
const MOST_WAITING = 1_000;

/** Limits waits for tasks, by `wait` or by events: each of them is notified of every change. */
export interface WaitingCallers {
  /** @returns what ends the wait @throws too_many_waits */
  enter(caller: Caller): () => void;
}

export function createWaitingCallers(): WaitingCallers {
  const counts = new Map<string, number>();

  return {
    enter(caller) {
      const name = nameCaller(caller);
      const count = counts.get(name) ?? 0;
      if (count >= MOST_WAITING) {
        const details = [`one key or user may wait ${MOST_WAITING} times at once`];
        throw new ServiceError('too_many_waits', { details, retryAfterSeconds: 1 });
      }
      counts.set(name, count + 1);
      return () => {
        const left = (counts.get(name) ?? 0) - 1;
        if (left > 0) counts.set(name, left);
        else counts.delete(name);
      };
    },
  };
}
