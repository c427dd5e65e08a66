/**
 * Loaded into the service that a bench watches. It records the longest work of the serving thread without a break, in
 * processor time, so other programs on the machine do not count. At SIGUSR2 it writes the milliseconds to BENCH_PIECES
 * and starts again.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { watchPauses } from '../../server/test/support/longest-pause.ts';

const path = process.env.BENCH_PIECES;

function watch(to: string): void {
  const pauses = watchPauses();
  process.on('SIGUSR2', () => {
    writeFileSync(`${to}.new`, String(pauses.take()));
    renameSync(`${to}.new`, to);
    // Writing the file does not count as work of the service.
    pauses.take();
  });
}

if (isMainThread && path !== undefined && process.argv.includes('serve')) watch(path);
