const workedMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/**
 * Measures the processor time of the calling thread, independent of other load on the machine. It does not keep the
 * process alive.
 * @returns `take`: the longest work of the thread without a break since the last call, in ms
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

/** @returns the longest uninterrupted work of the serving thread, which is the thread of the test, in ms */
export async function findLongestPause(work: () => Promise<void>): Promise<number> {
  const pauses = watchPauses();
  await work().finally(pauses.end);
  return pauses.take();
}

const REFERENCE = JSON.stringify(
  Array.from({ length: 2_000 }, (_, index) => ({
    at: index,
    name: `Name ${index}`,
    values: [index, `${index} mm`],
  })),
);
const REFERENCE_RUNS = 100;
/** Usual on an idle machine (2 cores). */
const REFERENCE_MS = 55;

/**
 * @returns the factor by which the same work takes longer now than on an idle machine, because other programs use the
 * same processor caches
 */
export function measureSlowdown(): number {
  const begun = workedMs();
  for (let run = 0; run < REFERENCE_RUNS; run += 1) JSON.stringify(JSON.parse(REFERENCE));
  return Math.max(1, (workedMs() - begun) / REFERENCE_MS);
}
