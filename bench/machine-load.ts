import { readdirSync, readFileSync } from 'node:fs';

/** How much of the machine others used meanwhile: figures measured beside other work are not to be trusted. */

interface Used {
  readonly all: number;
  readonly busy: number;
  readonly own: number;
}

/** @returns a function that tells the share of the processors, from 0 to 1, that others took since the start */
export function watchOthers(): () => number {
  const before = readUsed();
  return () => {
    const now = readUsed();
    const others = now.busy - before.busy - (now.own - before.own);
    return Math.max(0, others / Math.max(1, now.all - before.all));
  };
}

/** In ticks. What a hypervisor takes for others counts as busy. */
function readUsed(): Used {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, ...rest] = line
    .trim()
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  const busy = user + nice + system + rest.reduce((sum, ticks) => sum + ticks, 0);
  return { all: busy + idle + wait, busy, own: readOwn() };
}

/** This process, its children and those of them that have ended: they share a process group. */
function readOwn(): number {
  const [group] = readGroup(process.pid) ?? [0];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readGroup(Number(name)))
    .reduce((sum, found) => sum + (found?.[0] === group ? found[1] : 0), 0);
}

/** @returns the process group and the ticks used; undefined when the process is gone */
function readGroup(pid: number): [group: number, ticks: number] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return [Number(fields[2]), ticks];
  } catch {
    // It ended between the listing and the reading.
    return undefined;
  }
}
