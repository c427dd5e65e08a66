import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { readMemory } from '../support/process-usage.ts';
import { percentile, round, spreadOf } from '../support/statistics.ts';
import { openTraffic, type Traffic } from './soak-traffic.ts';

/** Five minutes by default; an hour with BENCH_SOAK_S=3600. */
const PERIODS = 75;
const SAMPLES = 30;
/** Caches and heaps fill first. Growth in the second half would not stop. */
const WARM_UP_SHARE = 1 / 6;
const MOST_GROWTH = { memory: 1.15, handles: 1.1, files: 1.25, lookups: 1.5 };

interface Sample {
  readonly memoryMib: number;
  readonly handles: number;
  readonly filesMib: number;
  readonly lookupMs: number;
}

/** Checks that a service under mixed traffic keeps its size and its speed. */
export const soak: Measurement = {
  name: 'soak',
  title:
    'A soak: full, incremental and partial updates, deletes, lookups, related products, searches, runs, exports, events',
  describeConditions: async ({ sizes }) =>
    `${secondsOf(sizes)} s, ${SAMPLES} samples, drawn over time. Growth is the median of the last quarter, of that of the third: ` +
    'initial growth is in the first half, whose growth, measured in the same way, is shown beside it.',
  async measure(bench: Bench): Promise<Figure[]> {
    const service = await bench.startService('soak');
    const traffic = await openTraffic(service);
    const samples: Sample[] = [];
    const stepMs = (secondsOf(bench.sizes) * 1_000) / SAMPLES;
    const running = traffic.run();
    for (let at = 1; at <= SAMPLES; at += 1) {
      await pause(stepMs);
      const sample = takeSample(service, traffic);
      samples.push(sample);
      bench.say(`soak ${at} of ${SAMPLES}: ${describeSample(sample)}, ${traffic.requests} requests`);
    }
    traffic.stop();
    await running;
    return toFigures(samples, traffic);
  },
};

const secondsOf = ({ seconds }: Bench['sizes']) => Number(process.env.BENCH_SOAK_S ?? seconds * PERIODS);

function takeSample({ pid, dataDir }: { pid: number; dataDir: string }, traffic: Traffic): Sample {
  return {
    memoryMib: readMemory(pid).presentMib,
    handles: readdirSync(`/proc/${pid}/fd`).length,
    filesMib: measureFolder(dataDir) / 2 ** 20,
    lookupMs: percentile(Float64Array.from(traffic.takeLookupTimes()).sort(), 99),
  };
}

/** A file that disappears in between has no size. */
function measureFolder(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const sizes = files.map(({ parentPath, name }) => {
    const found = statSync(join(parentPath, name), { throwIfNoEntry: false });
    return found?.size ?? 0;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

const describeSample = ({ memoryMib, handles, filesMib, lookupMs }: Sample) =>
  `${round(memoryMib)} MiB, ${handles} handles, ${round(filesMib)} MiB of files, lookups p99 ${round(lookupMs)} ms`;

function toFigures(all: readonly Sample[], { requests, faults }: Traffic): Figure[] {
  const samples = all.slice(Math.round(all.length * WARM_UP_SHARE));
  const grow = (name: string, most: number, of: (sample: Sample) => number): Figure => {
    const values = samples.map(of).filter((value) => Number.isFinite(value));
    const middle = Math.floor(values.length / 2);
    const [first, second] = [values.slice(0, middle), values.slice(middle)].map(growthOf);
    return {
      name: `${name}: growth in the second half`,
      spread: spreadOf([second ?? Number.NaN]),
      unit: '×',
      target: { kind: 'at most', value: most },
      absolute: `${draw(all.map(of))} ${round(values[0] ?? Number.NaN)} to ${round(values.at(-1) ?? Number.NaN)}; first half ${round(first ?? Number.NaN)} ×`,
    };
  };
  return [
    grow('resident memory, MiB', MOST_GROWTH.memory, ({ memoryMib }) => memoryMib),
    grow('open handles', MOST_GROWTH.handles, ({ handles }) => handles),
    grow('size of files, MiB', MOST_GROWTH.files, ({ filesMib }) => filesMib),
    grow('p99 of lookups, ms', MOST_GROWTH.lookups, ({ lookupMs }) => lookupMs),
    {
      name: 'requests that were not answered as they should be',
      spread: spreadOf([faults.length]),
      unit: 'faults',
      target: { kind: 'at most', value: 0 },
      absolute: [`${requests} requests`, ...faults.slice(0, 3)].join('; ').slice(0, 500),
    },
  ];
}

/** @returns the median of the later values divided by that of the earlier ones, because single samples are noisy */
function growthOf(values: readonly number[]): number {
  const middle = Math.floor(values.length / 2);
  return spreadOf(values.slice(middle)).median / spreadOf(values.slice(0, middle)).median;
}

const BARS = '▁▂▃▄▅▆▇█';

/** Draws values over time, from 0 to the largest. */
function draw(values: readonly number[]): string {
  const most = Math.max(...values.filter((value) => Number.isFinite(value)));
  const barOf = (value: number) => BARS[Math.min(BARS.length - 1, Math.floor((value / most) * BARS.length))];
  return values.map((value) => (Number.isFinite(value) ? barOf(value) : ' ')).join('');
}
