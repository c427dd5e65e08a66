import { readdirSync, readFileSync } from 'node:fs';

/** A test process that takes too much memory. */
export interface HungryTest {
  readonly file: string;
  readonly megabytes: number;
}

/** A runaway comparison allocated a gigabyte within a second. */
const LOOK_EVERY_MS = 250;

/**
 * Watches the running test files of this process and their children. A process above the limit ends its file and all
 * children. Only Linux reports the memory of a process. Other systems are not watched.
 * @param tell  called for each ended file
 * @returns a function that ends the watch
 */
export function watchMemory(limitMb: number, tell: (test: HungryTest) => void): () => void {
  const look = () => {
    for (const pid of listChildren(process.pid)) {
      const file = findTestFile(pid);
      const all = file === undefined ? [] : [pid, ...listBelow(pid)];
      const megabytes = Math.max(0, ...all.map(readMegabytes));
      if (file === undefined || megabytes <= limitMb) continue;
      all.forEach(end);
      tell({ file, megabytes });
    }
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  return () => clearInterval(timer);
}

/** @returns undefined for other processes, such as the database of all tests */
function findTestFile(pid: number): string | undefined {
  const file = describeProcess(pid).split('\0').at(-2);
  return file !== undefined && /\/relata-groups-.*\.mjs$/.test(file) ? file : undefined;
}

/** @returns its program and arguments; '' if it has ended */
export const describeProcess = (pid: number): string => read(`/proc/${pid}/cmdline`);

const listBelow = (pid: number): number[] =>
  listChildren(pid).flatMap((child) => [child, ...listBelow(child)]);

/** Each thread has its own list of children. */
export function listChildren(pid: number): number[] {
  const lists = listThreads(pid).map((thread) => read(`/proc/${pid}/task/${thread}/children`));
  return lists.flatMap((list) => list.trim().split(' ').filter(Boolean).map(Number));
}

function listThreads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function readMegabytes(pid: number): number {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`)) ?? [];
  return Math.round(Number(kilobytes) / 1024);
}

/** @returns '' if the process has ended */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
