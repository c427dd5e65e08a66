import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';

/** The usage of processes, from Linux's /proc. */

/** The unit of /proc/PID/stat on every Linux that Node runs on. */
export const TICK_MS = 10;
/** A profiler is never idle. */
const QUIET_SHARE = process.env.BENCH_NODE_OPTIONS === undefined ? 0.04 : 0.5;
const QUIET_MS = 400;
const LONGEST_MS = 120_000;

/** @returns the processor time of all threads of a process */
export function readCpuMs(pid: number): number {
  return readStat(pid).ownTicks * TICK_MS;
}

interface Stat {
  readonly parent: number;
  readonly ownTicks: number;
  /** Ticks of ended children. */
  readonly endedTicks: number;
}

function readStat(pid: number): Stat {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [parent = 0, user = 0, system = 0, endedUser = 0, endedSystem = 0] = [1, 11, 12, 13, 14].map(
    (at) => fields[at],
  );
  return { parent, ownTicks: user + system, endedTicks: endedUser + endedSystem };
}

/** @returns the processor time of a process and all its descendants, ended or not */
export function readFamilyCpuMs(pid: number): number {
  const stats = listStats();
  const isOf = (member: number): boolean => {
    const parent = stats.get(member)?.parent;
    return member === pid || (parent !== undefined && isOf(parent));
  };
  let ticks = 0;
  for (const [member, { ownTicks, endedTicks }] of stats) {
    if (isOf(member)) ticks += ownTicks + endedTicks;
  }
  return ticks * TICK_MS;
}

function listStats(): Map<number, Stat> {
  const stats = new Map<number, Stat>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      stats.set(Number(name), readStat(Number(name)));
    } catch {
      // It ended between the listing and the reading.
    }
  }
  return stats;
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
 * Waits until a process has no work left, such as after a commit, so that it does not disturb the next measurement.
 * @returns the wait in ms
 */
export function waitUntilQuiet(pid: number): Promise<number> {
  return waitUntilIdle(`the process ${pid}`, () => readCpuMs(pid));
}

/** The same for any source of processor time. */
export async function waitUntilIdle(
  name: string,
  readMs: () => number,
  longestMs = LONGEST_MS,
): Promise<number> {
  const start = performance.now();
  while (performance.now() - start < longestMs) {
    const before = { cpu: readMs(), at: performance.now() };
    await pause(QUIET_MS);
    const share = (readMs() - before.cpu) / (performance.now() - before.at);
    if (share <= QUIET_SHARE) return before.at - start;
  }
  throw new Error(`${name} is busy although no requests arrive`);
}

/**
 * Gives priority to this process. A load generator would have its own machine, so it must not wait behind the measured
 * service. The same applies to every rival.
 */
export function goFirst(): void {
  try {
    setPriority(-10);
  } catch {
    // Not permitted: generator and server share the processors evenly.
  }
}
