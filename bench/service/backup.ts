import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { streamBodies } from '../support/catalogs.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { readCpuMs, readMemory, waitUntilQuiet } from '../support/process-usage.ts';
import { type BenchService, PROGRAM } from '../support/service.ts';
import { runFullUpdate } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { FIRST_VERSION } from '../support/synthetic-products.ts';

/** The cost of a continuous backup to a directory, its lag, and the time to restore a lost directory. */
export const backup: Measurement = {
  name: 'backup',
  title: 'Continuous backup: its cost during full updates, its lag, and a restore',
  async measure(bench: Bench): Promise<Figure[]> {
    const pairs: { without: Load; with: Load }[] = [];
    for (let pair = 1; pair <= bench.sizes.rounds; pair += 1) {
      bench.say(`full updates of ${bench.sizes.synthetic} products, pair ${pair}`);
      pairs.push({ without: await load(bench, undefined), with: await load(bench, makeTarget(bench)) });
    }
    return [...compare(pairs), ...(await restoreMillion(bench))];
  },
};

interface Load {
  readonly ms: number;
  readonly cpuMs: number;
  readonly peakMib: number;
  readonly lags: readonly number[];
}

const makeTarget = ({ folder }: Bench) => mkdtempSync(join(folder, 'target-'));

const startWith = (bench: Bench, target: string | undefined) =>
  bench.startService('backup', { RELATA_BACKUP_URL: target && pathToFileURL(target).href });

async function load(bench: Bench, target: string | undefined): Promise<Load> {
  const service = await startWith(bench, target);
  const projectId = await service.createProject('Backup');
  if (target !== undefined) await waitUntilSent(service);
  await waitUntilQuiet(service.pid);
  const cpuBefore = readCpuMs(service.pid);
  const lags: number[] = [];
  let isLoading = true;
  const watching = (async () => {
    for (; isLoading; await pause(200)) lags.push(await readLag(service));
  })();
  const { totalMs } = await runFullUpdate(service, projectId, {
    bodies: streamBodies(bench.sizes.synthetic, FIRST_VERSION),
  });
  if (target !== undefined) await waitUntilSent(service);
  isLoading = false;
  await watching;
  await waitUntilQuiet(service.pid);
  const { peakMib } = readMemory(service.pid);
  const used = { ms: totalMs, cpuMs: readCpuMs(service.pid) - cpuBefore, peakMib, lags };
  await service.stop();
  if (target !== undefined) rmSync(target, { recursive: true });
  return used;
}

/** Reads the health check, which costs little. @returns seconds */
async function readLag({ address }: BenchService): Promise<number> {
  const { backup } = (await (await fetch(`${address}/health/ready`)).json()) as Ready;
  return backup?.behindSeconds ?? 0;
}

interface Ready {
  readonly backup?: { readonly behindSeconds: number };
}

async function hasBase({ address, key }: BenchService): Promise<boolean> {
  const answer = await fetch(`${address}/metrics`, { headers: { authorization: `Bearer ${key}` } });
  return /^relata_backup_base_seconds [1-9]/m.test(await answer.text());
}

/** Waits until the target has a base and all commits. */
async function waitUntilSent(service: BenchService): Promise<void> {
  while (!(await hasBase(service))) await pause(100);
  while ((await readLag(service)) > 0) await pause(100);
}

function compare(pairs: readonly { without: Load; with: Load }[]): Figure[] {
  const each = (of: (load: Load) => number) =>
    pairs.map(({ without, with: other }) => [of(without), of(other)] as const);
  const ratio = (of: (load: Load) => number) => spreadOf(each(of).map(([without, other]) => other / without));
  const show = (of: (load: Load) => number) =>
    each(of)
      .map(([without, other]) => `${round(without)} and ${round(other)}`)
      .join(', ');
  return [
    {
      name: 'time of a full update with a backup, of one without',
      spread: ratio(({ ms }) => ms),
      unit: '×',
      target: { kind: 'at most', value: 1.1 },
      absolute: `${show(({ ms }) => ms)} ms`,
    },
    {
      name: 'processor time of the same, until all is sent',
      spread: ratio(({ cpuMs }) => cpuMs),
      unit: '×',
      target: { kind: 'at most', value: 1.1 },
      absolute: `${show(({ cpuMs }) => cpuMs)} ms`,
    },
    {
      name: 'greatest resident memory with a backup, more than without',
      spread: spreadOf(each(({ peakMib }) => peakMib).map(([without, other]) => other - without)),
      unit: 'MiB',
      target: { kind: 'at most', value: 50 },
      absolute: `${show(({ peakMib }) => peakMib)} MiB`,
    },
    {
      name: 'most that the target was behind during a full update',
      spread: spreadOf(pairs.map((pair) => Math.max(...pair.with.lags))),
      unit: 's',
      target: { kind: 'at most', value: 1 },
      absolute: 'behindSeconds of the health check, asked five times a second',
    },
    {
      name: 'how far the target was behind at a look during a full update',
      spread: spreadOf(pairs.flatMap((pair) => pair.with.lags)),
      unit: 's',
      target: { kind: 'at most', value: 1 },
    },
  ];
}

async function restoreMillion(bench: Bench): Promise<Figure[]> {
  const count = bench.sizes.million;
  bench.say(`loading ${count} products to restore`);
  const target = makeTarget(bench);
  const service = await startWith(bench, target);
  const projectId = await service.createProject('Million');
  await runFullUpdate(service, projectId, { bodies: streamBodies(count, FIRST_VERSION) });
  await waitUntilSent(service);
  await service.stop();
  const restored = join(bench.folder, 'restored');
  bench.say('restoring them');
  const begun = performance.now();
  const said = execFileSync(
    process.execPath,
    [PROGRAM, 'restore', '--from', pathToFileURL(target).href, restored],
    { encoding: 'utf8' },
  );
  const seconds = (performance.now() - begun) / 1_000;
  const files = execFileSync('du', ['-sm', target, restored], { encoding: 'utf8' }).match(/^\d+/gm) ?? [];
  for (const folder of [target, restored]) rmSync(folder, { recursive: true });
  return [
    {
      name: `${count} products back from a local target`,
      spread: spreadOf([seconds]),
      unit: 's',
      target: { kind: 'at most', value: 60 },
      absolute: `${files[0]} MiB in the target, ${files[1]} MiB restored; ${said.trim().replace(restored, 'DIR')}`,
    },
  ];
}
