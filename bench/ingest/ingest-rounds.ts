import { join } from 'node:path';
import { startBaseline } from '../support/baseline-server.ts';
import type { BenchCatalog } from '../support/catalogs.ts';
import { type Child, startChild } from '../support/child-process.ts';
import type { Bench } from '../support/measurement.ts';
import { readCpuMs, readMemory, waitUntilQuiet } from '../support/process-usage.ts';
import type { RawLoad } from '../support/raw-limit.ts';
import type { BenchService } from '../support/service.ts';
import { runFullUpdate } from '../support/service-client.ts';

/** Times in ms for one catalog, measured in turn within a minute, so that noise of the machine affects all. */
export interface IngestRound {
  readonly raw: number;
  readonly baseline: number;
  /** A full update of an empty catalog. */
  readonly first: number;
  /** The commit's part of `first`. */
  readonly commit: number;
  /** Work of the service after the commit. */
  readonly tidying: number;
  /** Processor time of all threads of the service until the end of the commit, and of the raw load. */
  readonly firstCpu: number;
  readonly rawCpu: number;
  /** The service's peak memory up to the end of the commit, in MiB. */
  readonly firstPeak: number;
  /** The same full update again. */
  readonly unchanged: number;
  /** The same with 1 % of the products changed. */
  readonly changed: number;
}

/** Loads a catalog in each way in turn, round after round. The measurements `ingest` and `repeat` share the results. */
export function measureIngest(bench: Bench, catalog: BenchCatalog): Promise<IngestRound[]> {
  return bench.share(`ingest rounds of ${catalog.name}`, async () => {
    const service = await bench.startService('ingest');
    const raw = startChild('raw-limit.ts');
    const path = join(bench.folder, 'raw-limit.db');
    const rounds: IngestRound[] = [];
    try {
      // The first load also transfers the bodies and warms up, so it does not count.
      await raw.ask<number>({ path, bodies: catalog.bodies } satisfies RawLoad);
      for (let round = 1; round <= bench.sizes.rounds; round += 1) {
        bench.say(`${catalog.name}: ingest round ${round}`);
        rounds.push(await runRound({ bench, catalog, service, raw, path }, round));
      }
    } finally {
      await raw.stop();
      await service.stop();
    }
    return rounds;
  });
}

interface RoundParts {
  readonly bench: Bench;
  readonly catalog: BenchCatalog;
  readonly service: BenchService;
  readonly raw: Child;
  readonly path: string;
}

async function runRound(parts: RoundParts, round: number): Promise<IngestRound> {
  const { bench, catalog, service, raw, path } = parts;
  const projectId = await service.createProject(`${catalog.name} ${round}`);
  const update = async (bodies: readonly Buffer[]) => {
    const before = readCpuMs(service.pid);
    const time = await runFullUpdate(service, projectId, { bodies });
    const cpu = readCpuMs(service.pid) - before;
    return { ...time, cpu, tidying: await waitUntilQuiet(service.pid) };
  };
  const rawBefore = readCpuMs(raw.pid);
  const rawMs = await raw.ask<number>({ path } satisfies RawLoad);
  const rawCpu = readCpuMs(raw.pid) - rawBefore;
  const first = await update(catalog.bodies);
  const { peakMib: firstPeak } = readMemory(service.pid);
  const unchanged = await update(catalog.bodies);
  const changed = await update(catalog.slightlyChanged);
  return {
    raw: rawMs,
    baseline: await loadBaseline(join(bench.folder, `baseline-${round}.db`), catalog),
    first: first.totalMs,
    commit: first.commitMs,
    tidying: first.tidying,
    firstCpu: first.cpu,
    rawCpu,
    firstPeak,
    unchanged: unchanged.totalMs,
    changed: changed.totalMs,
  };
}

async function loadBaseline(path: string, catalog: BenchCatalog): Promise<number> {
  const baseline = await startBaseline(path);
  try {
    return await baseline.load(catalog.bodies);
  } finally {
    await baseline.stop();
  }
}
