const workedMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/**
 * Watches the calling thread, in its processor time, whatever else the machine does. It keeps no process alive.
 * @returns `take`: the longest time in ms that the thread worked without a break since the last call
 */
export function watchPauses(): { take(): number; end(): void } {
  let last = workedMs();
  let longest = 0;
  const compare = () => {
    const now = workedMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(compare, 1).unref();
  return {
    take() {
      compare();
      const taken = longest;
      longest = 0;
      return taken;
    },
    end: () => clearInterval(timer),
  };
}

/** @returns the longest time in ms that the serving thread, which is that of the test, worked without a break */
export async function findLongestPause(work: () => Promise<void>): Promise<number> {
  const pauses = watchPauses();
  await work().finally(pauses.end);
  return pauses.take();
}
