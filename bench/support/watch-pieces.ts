/**
 * Loaded into the service that a bench watches: notes the longest piece of work of its serving thread, in processor time, so that
 * other programs on the machine do not count. At SIGUSR2 it writes the milliseconds to BENCH_PIECES and begins anew.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const path = process.env.BENCH_PIECES;

function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function watch(to: string): void {
  let last = workedMs();
  let longest = 0;
  const compare = () => {
    const now = workedMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  setInterval(compare, 1).unref();
  process.on('SIGUSR2', () => {
    compare();
    writeFileSync(`${to}.new`, String(longest));
    renameSync(`${to}.new`, to);
    longest = 0;
    last = workedMs();
  });
}

if (isMainThread && path !== undefined && process.argv.includes('serve')) watch(path);
