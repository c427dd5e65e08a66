import { join } from 'node:path';
import { type BaselineServer, startBaseline } from '../support/baseline-server.ts';
import { type BenchCatalog, openRealCatalog, openSyntheticCatalog } from '../support/catalogs.ts';
import { type Child, startChild } from '../support/child-process.ts';
import type { LoadOrder, LoadResult } from '../support/lookup-load.ts';
import { listPaths, lookupPath, REQUESTS_OF_100 } from '../support/lookup-paths.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { readCpuMs, waitUntilQuiet } from '../support/process-usage.ts';
import type { BenchService } from '../support/service.ts';
import { runFullUpdate } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';

const CONNECTIONS = 8;
const PER_REQUEST = 100;
/** Answers that the bare server sends in turn. */
const BARE_ANSWERS = 400;

/** The speed of a lookup of 100 products, compared to a server that only sends the bytes. */
export const lookup: Measurement = {
  name: 'lookup',
  title: 'Lookup of 100 random identifiers over 8 connections',
  async measure(bench: Bench): Promise<Figure[]> {
    const figures: Figure[] = [];
    for (const open of [openRealCatalog, openSyntheticCatalog]) {
      figures.push(...(await measureCatalog(bench, await open(bench))));
    }
    return figures;
  },
};

interface Rival {
  readonly kind: 'service' | 'bare' | 'baseline';
  readonly pid: number;
  readonly order: LoadOrder;
}

interface Speed {
  readonly perSecond: number;
  /** The server alone, without the load generator. */
  readonly cpuMs: number;
  readonly p99: number;
}

async function measureCatalog(bench: Bench, catalog: BenchCatalog): Promise<Figure[]> {
  bench.say(`${catalog.name}: loading for lookups`);
  const service = await bench.startService('lookup');
  const baseline = await startBaseline(join(bench.folder, 'baseline-lookup.db'));
  const bare = startChild('bare-server.ts');
  const load = startChild('lookup-load.ts');
  try {
    const rivals = await prepareRivals({ bench, catalog, service, baseline, bare });
    // The first request makes an answer, so each answer is requested once before the measurement.
    for (const { order } of rivals) await load.ask({ ...order, requests: order.paths.length });
    const rounds: Record<Rival['kind'], Speed>[] = [];
    for (let at = 1; at <= bench.sizes.rounds; at += 1) {
      bench.say(`${catalog.name}: lookup round ${at}`);
      const speeds = new Map<Rival['kind'], Speed>();
      for (const rival of rivals) speeds.set(rival.kind, await measureRival(load, rival));
      rounds.push(Object.fromEntries(speeds) as Record<Rival['kind'], Speed>);
    }
    return toFigures(catalog, rounds);
  } finally {
    for (const server of [service, baseline, bare, load]) await server.stop();
  }
}

interface RivalParts {
  readonly bench: Bench;
  readonly catalog: BenchCatalog;
  readonly service: BenchService;
  readonly baseline: BaselineServer;
  readonly bare: Child;
}

async function prepareRivals({ bench, catalog, service, baseline, bare }: RivalParts): Promise<Rival[]> {
  const projectId = await service.createProject(catalog.name);
  await runFullUpdate(service, projectId, { bodies: catalog.bodies });
  await waitUntilQuiet(service.pid);
  await baseline.load(catalog.bodies);
  const { identifiers } = catalog;
  const pathsOf = (path: string) =>
    listPaths({ path, identifiers, perRequest: PER_REQUEST, requests: REQUESTS_OF_100 });
  const paths = pathsOf(lookupPath(projectId));
  const answers: Buffer[] = [];
  for (const path of paths.slice(0, BARE_ANSWERS)) {
    answers.push(Buffer.from((await service.call('GET', path)).text));
  }
  const bareAddress = await bare.ask<string>(answers);
  const shared = { key: service.key, seconds: bench.sizes.seconds, connections: CONNECTIONS };
  return [
    { kind: 'bare', pid: bare.pid, order: { ...shared, address: bareAddress, paths } },
    { kind: 'service', pid: service.pid, order: { ...shared, address: service.address, paths } },
    {
      kind: 'baseline',
      pid: baseline.pid,
      order: { ...shared, address: baseline.address, paths: pathsOf('/products') },
    },
  ];
}

async function measureRival(load: Child, { pid, order }: Rival): Promise<Speed> {
  const before = readCpuMs(pid);
  const { perSecond, requests, p99 } = await load.ask<LoadResult>(order);
  return { perSecond, p99, cpuMs: (readCpuMs(pid) - before) / requests };
}

function toFigures({ name }: BenchCatalog, rounds: readonly Record<Rival['kind'], Speed>[]): Figure[] {
  const compare = (rival: 'bare' | 'baseline', target: number): Figure => {
    const middle = (kind: Rival['kind'], field: keyof Speed) =>
      round(spreadOf(rounds.map((one) => one[kind][field])).median);
    return {
      name: `${name}: requests/s, of ${rival === 'bare' ? 'a bare server that sends the bytes' : 'the one-day baseline'}`,
      spread: spreadOf(rounds.map((one) => one.service.perSecond / one[rival].perSecond)),
      unit: '×',
      target: { kind: 'at least', value: target },
      absolute:
        `${middle('service', 'perSecond')} of ${middle(rival, 'perSecond')} requests/s, processor ` +
        `${middle('service', 'cpuMs')} and ${middle(rival, 'cpuMs')} ms a request, ` +
        `p99 ${middle('service', 'p99')} and ${middle(rival, 'p99')} ms`,
    };
  };
  return [compare('bare', 0.5), compare('baseline', 1)];
}
