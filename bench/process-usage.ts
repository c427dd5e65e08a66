import { readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';

/** What a process uses, from Linux's /proc. */

/** The unit of /proc/PID/stat on every Linux that Node runs on. */
const TICK_MS = 10;
/** A profiler is never quiet. */
const QUIET_SHARE = process.env.BENCH_NODE_OPTIONS === undefined ? 0.04 : 0.5;
const QUIET_MS = 400;
const LONGEST_MS = 120_000;

/** @returns the processor time that all threads of a process have used */
export function readCpuMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

export interface Memory {
  readonly presentMib: number;
  readonly peakMib: number;
}

export function readMemory(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mibOf = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1024;
  return { presentMib: mibOf('VmRSS'), peakMib: mibOf('VmHWM') };
}

/**
 * Waits until a process has nothing left to do, e.g. to tidy up after a commit, so that it does not disturb what is
 * measured next. @returns how long that took, in ms
 */
export async function waitUntilQuiet(pid: number): Promise<number> {
  const start = performance.now();
  while (performance.now() - start < LONGEST_MS) {
    const before = { cpu: readCpuMs(pid), at: performance.now() };
    await pause(QUIET_MS);
    const share = (readCpuMs(pid) - before.cpu) / (performance.now() - before.at);
    if (share <= QUIET_SHARE) return before.at - start;
  }
  throw new Error(`the process ${pid} is busy although nobody asks anything`);
}

/**
 * A load generator would have a machine of its own; here it at least does not wait for its turn behind what it
 * measures. The same for whatever is compared.
 */
export function goFirst(): void {
  try {
    setPriority(-10);
  } catch {
    // Not permitted: generator and server share the processors evenly.
  }
}
