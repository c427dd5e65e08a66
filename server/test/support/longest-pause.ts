/**
 * @returns the longest time in ms that the serving thread, which is that of the test, worked without a break, whatever else
 * the machine does
 */
export async function findLongestPause(work: () => Promise<void>): Promise<number> {
  const workedMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let last = workedMs();
  let longest = 0;
  const compare = () => {
    const now = workedMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(compare, 1);
  await work().finally(() => clearInterval(timer));
  compare();
  return longest;
}
