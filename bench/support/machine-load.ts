import { readFileSync } from 'node:fs';
import { readFamilyCpuMs, TICK_MS } from './process-usage.ts';

/** The other work on the machine during a measurement. With such work, figures are not reliable. */

interface Used {
  readonly all: number;
  readonly busy: number;
  readonly own: number;
}

/** The rounds of a shorter measurement are those of another one. */
const SHORTEST_TICKS = 100;

/**
 * @returns a function for the share of the processors, from 0 to 1, that others used since the start, if it can be
 * measured
 */
export function watchOthers(): () => number | undefined {
  const before = readUsed();
  return () => {
    const now = readUsed();
    const all = now.all - before.all;
    const others = now.busy - before.busy - (now.own - before.own);
    return all < SHORTEST_TICKS ? undefined : Math.max(0, others / all);
  };
}

/** In ticks. Time stolen by a hypervisor counts as busy. */
function readUsed(): Used {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, ...rest] = line
    .trim()
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  const busy = user + nice + system + rest.reduce((sum, ticks) => sum + ticks, 0);
  // By descent, because PostgreSQL puts each of its processes into a separate group.
  return { all: busy + idle + wait, busy, own: readFamilyCpuMs(process.pid) / TICK_MS };
}
