/** The clock is a dependency, so that tests can move it. It counts epoch milliseconds. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
