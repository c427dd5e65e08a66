import { PRODUCTS_PER_BATCH } from '../support/catalogs.ts';
import { type Child, startChild } from '../support/child-process.ts';
import type { LoadOrder, LoadResult } from '../support/lookup-load.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { readCpuMs } from '../support/process-usage.ts';
import { round, spreadOf } from '../support/statistics.ts';
import {
  forgetAnswers,
  listBulkPaths,
  listSinglePaths,
  loadRelated,
  type RelatedCatalog,
} from './relation-catalogs.ts';
import { measureCosts } from './relation-costs.ts';
import { measureHealth, measureHundred } from './relation-depth.ts';
import { measureFruitless, measureLarge } from './relation-extremes.ts';
import { FRUITLESS_RELATIONS, TEN_RELATIONS } from './relation-rules.ts';

/** Answers that the bare server sends in turn. */
const BARE_ANSWERS = 200;
const BULK = { perRequest: 100, limit: 5, requests: BARE_ANSWERS };
/** In a catalog of 10,000, no product is requested twice. */
const GROWTH = { ...BULK, requests: 100 };
const SINGLE = { limit: 10, requests: 2_000 };
const CONNECTIONS = [1, 8];
const WARM_UP_SECONDS = 1;

/** The cost of related products: of requests, of updates, and of rules without results. */
export const relations: Measurement = {
  name: 'relations',
  title: 'Related products by ten relations',
  async measure(bench: Bench): Promise<Figure[]> {
    const service = await bench.startService('relations');
    const load = startChild('lookup-load.ts');
    const bare = startChild('bare-server.ts');
    try {
      const { figures: costs, catalog } = await measureCosts(bench, service);
      const parts = { bench, catalog, load, bare };
      const answers = [
        ...(await measureBulk(parts)),
        ...(await measureSingle(parts)),
        ...(await measureHundred(bench, catalog)),
        ...(await measureHealth(bench, catalog)),
      ];
      const large = await measureLarge(bench, service, load);
      const count = bench.sizes.million;
      bench.say(`loading ${count} products with relations`);
      const definitions = [...TEN_RELATIONS, ...Object.values(FRUITLESS_RELATIONS)];
      const million = await loadRelated(service, { name: 'Million', count, definitions });
      const small = await loadRelated(service, { name: 'Small', count: PRODUCTS_PER_BATCH, definitions });
      const growth = await measureGrowth({ bench, load, small, million });
      return [...answers, ...growth, ...costs, ...large, ...(await measureFruitless(bench, million))];
    } finally {
      for (const one of [bare, load, service]) await one.stop();
    }
  },
};

interface Parts {
  readonly bench: Bench;
  readonly catalog: RelatedCatalog;
  readonly load: Child;
  readonly bare: Child;
}

interface Timed extends LoadResult {
  /** The server alone, per request. */
  readonly cpuMs: number;
}

interface Rivals {
  readonly service: Timed;
  readonly bare: Timed;
}

async function time(load: Child, pid: number, order: LoadOrder): Promise<Timed> {
  const before = readCpuMs(pid);
  const result = await load.ask<LoadResult>(order);
  return { ...result, cpuMs: (readCpuMs(pid) - before) / result.requests };
}

/** Sends both servers the same requests in turn. The bare server has the answers of the first paths. */
async function openRivals({ bench, catalog, load, bare }: Parts, paths: readonly string[]) {
  const { service } = catalog;
  const answers: Buffer[] = [];
  for (const path of paths.slice(0, BARE_ANSWERS)) {
    answers.push(Buffer.from((await service.call('GET', path)).text));
  }
  const shared = { key: service.key, paths, seconds: bench.sizes.seconds };
  const ofBare = { ...shared, address: await bare.ask<string>(answers) };
  const ofService = { ...shared, address: service.address };
  return {
    bytes: answers.reduce((sum, { length }) => sum + length, 0) / answers.length,
    /** Requests each path once. */
    runOnce: () =>
      time(load, service.pid, { ...ofService, seconds: 0, requests: paths.length, connections: 1 }),
    async run(connections: number): Promise<Rivals> {
      const ask = async (order: Omit<LoadOrder, 'connections'>, pid: number) => {
        await load.ask<LoadResult>({ ...order, connections, seconds: WARM_UP_SECONDS });
        return time(load, pid, { ...order, connections });
      };
      return { bare: await ask(ofBare, bare.pid), service: await ask(ofService, service.pid) };
    },
  };
}

async function measureBulk(parts: Parts): Promise<Figure[]> {
  const { bench, catalog } = parts;
  const rivals = await openRivals(parts, listBulkPaths(catalog, BULK));
  const firsts: Rivals[] = [];
  const rounds = new Map<number, Rivals[]>(CONNECTIONS.map((connections) => [connections, []]));
  for (let at = 1; at <= bench.sizes.rounds; at += 1) {
    bench.say(`related products of 100: round ${at}`);
    await forgetAnswers(catalog);
    const service = await rivals.runOnce();
    for (const [connections, found] of rounds) found.push(await rivals.run(connections));
    const bare = rounds.get(1)?.at(-1)?.bare;
    if (bare !== undefined) firsts.push({ service, bare });
  }
  const size = `answers of ${round(rivals.bytes / 1_000)} KB`;
  return [
    ...[...rounds].flatMap(([connections, found]) => toBulkFigures(connections, found, size)),
    {
      name: '100 products, asked for the first time: p50, of a bare server that sends the bytes',
      spread: spreadOf(firsts.map(({ service, bare }) => service.p50 / bare.p50)),
      unit: '×',
      absolute: describeTimes(firsts),
    },
    {
      name: '100 products, asked for the first time: p99, of the p50',
      spread: spreadOf(firsts.map(({ service }) => service.p99 / service.p50)),
      unit: '×',
      target: { kind: 'at most', value: 3 },
    },
  ];
}

function toBulkFigures(connections: number, rounds: readonly Rivals[], size: string): Figure[] {
  const title = `100 products, ${connections} ${connections === 1 ? 'connection' : 'connections'}`;
  return [
    {
      name: `${title}: p50, of a bare server that sends the bytes`,
      spread: spreadOf(rounds.map(({ service, bare }) => service.p50 / bare.p50)),
      unit: '×',
      target: { kind: 'at most', value: 6 },
      absolute: `${describeTimes(rounds)}; ${size}`,
    },
    {
      name: `${title}: p99, of the p50`,
      spread: spreadOf(rounds.map(({ service }) => service.p99 / service.p50)),
      unit: '×',
      target: { kind: 'at most', value: 4 },
    },
  ];
}

function describeTimes(rounds: readonly Rivals[]): string {
  const pair = (field: 'p50' | 'p99' | 'cpuMs') => {
    const of = (kind: keyof Rivals) => round(spreadOf(rounds.map((one) => one[kind][field])).median);
    return `${of('service')} and ${of('bare')} ms`;
  };
  return `p50 ${pair('p50')}, p99 ${pair('p99')}, processor ${pair('cpuMs')} a request`;
}

async function measureSingle(parts: Parts): Promise<Figure[]> {
  const { bench, catalog } = parts;
  const connections = 8;
  const rivals = await openRivals(parts, listSinglePaths(catalog, SINGLE));
  await rivals.runOnce();
  const rounds: Rivals[] = [];
  for (let at = 1; at <= bench.sizes.rounds; at += 1) {
    bench.say(`related products of one: round ${at}`);
    rounds.push(await rivals.run(connections));
  }
  const rate = (kind: keyof Rivals) => round(spreadOf(rounds.map((one) => one[kind].perSecond)).median);
  return [
    {
      name: `one product × 3 tags, ${connections} connections: requests/s, of a bare server that sends the bytes`,
      spread: spreadOf(rounds.map(({ service, bare }) => service.perSecond / bare.perSecond)),
      unit: '×',
      target: { kind: 'at least', value: 0.2 },
      absolute:
        `${rate('service')} of ${rate('bare')} requests/s, ${describeTimes(rounds)}; ` +
        `answers of ${round(rivals.bytes / 1_000)} KB`,
    },
  ];
}

interface GrowthParts {
  readonly bench: Bench;
  readonly load: Child;
  readonly small: RelatedCatalog;
  readonly million: RelatedCatalog;
}

interface Both {
  readonly small: LoadResult;
  readonly million: LoadResult;
}

async function measureGrowth({ bench, load, small, million }: GrowthParts): Promise<Figure[]> {
  const ask = (catalog: RelatedCatalog, order: Pick<LoadOrder, 'seconds' | 'requests'>) => {
    const { address, key } = catalog.service;
    const paths = listBulkPaths(catalog, GROWTH);
    return load.ask<LoadResult>({ address, key, paths, connections: 1, ...order });
  };
  const askBoth = async (order: Pick<LoadOrder, 'seconds' | 'requests'>): Promise<Both> => ({
    small: await ask(small, order),
    million: await ask(million, order),
  });
  const firsts: Both[] = [];
  const rounds: Both[] = [];
  for (let at = 1; at <= bench.sizes.rounds; at += 1) {
    bench.say(`related products in catalogs of two sizes: round ${at}`);
    for (const catalog of [small, million]) await forgetAnswers(catalog);
    firsts.push(await askBoth({ seconds: 0, requests: GROWTH.requests }));
    rounds.push(await askBoth({ seconds: bench.sizes.seconds }));
  }
  const compare = (found: readonly Both[]) => spreadOf(found.map((one) => one.million.p50 / one.small.p50));
  const describe = (found: readonly Both[]) => {
    const of = (kind: keyof Both) => round(spreadOf(found.map((one) => one[kind].p50)).median);
    return `${of('million')} and ${of('small')} ms`;
  };
  return [
    {
      name: "100 products of a million: p50, of the small catalog's",
      spread: compare(rounds),
      unit: '×',
      target: { kind: 'at most', value: 1.5 },
      absolute: describe(rounds),
    },
    {
      name: "100 products of a million, asked for the first time: p50, of the small catalog's",
      spread: compare(firsts),
      unit: '×',
      absolute: describe(firsts),
    },
  ];
}
