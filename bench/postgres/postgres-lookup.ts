import { type BenchCatalog, openRealCatalog, openSyntheticCatalog } from '../support/catalogs.ts';
import { type Child, startChild } from '../support/child-process.ts';
import type { LoadOrder, LoadResult } from '../support/lookup-load.ts';
import { listPaths, lookupPath, REQUESTS_OF_100 } from '../support/lookup-paths.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import type { Settings } from '../support/service.ts';
import { runFullUpdate } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { describePostgres } from './postgres-server.ts';
import {
  type BenchStore,
  type Cpu,
  onBoth,
  openStores,
  perPiece,
  STORES,
  type StoreKind,
  type Stores,
} from './postgres-stores.ts';

const CONNECTIONS = 8;
const PER_REQUEST = 100;

/**
 * With cached answers, PostgreSQL is only asked for the catalog version. Without the cache, it is asked for all
 * answers.
 */
export const MEMORIES: readonly { readonly title: string; readonly settings: Settings }[] = [
  { title: 'answers in memory', settings: {} },
  { title: 'every answer read', settings: { RELATA_CACHE_MIB: '0' } },
];

/** The cost of a lookup on PostgreSQL, compared to the embedded store. */
export const postgresLookup: Measurement = {
  name: 'postgres-lookup',
  title: `PostgreSQL: lookup of ${PER_REQUEST} random identifiers over ${CONNECTIONS} connections`,
  describeConditions: describePostgres,
  async measure(bench: Bench): Promise<Figure[]> {
    const figures: Figure[] = [];
    for (const open of [openRealCatalog, openSyntheticCatalog]) {
      const catalog = await open(bench);
      for (const { title, settings } of MEMORIES) {
        const rounds = await measureCatalog(bench, catalog, settings);
        figures.push(...toFigures(`${catalog.name}, ${title}`, rounds));
      }
    }
    return figures;
  },
};

export interface Speed {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** The servers alone, per request. */
  readonly cpu: Cpu;
}

type Round = Readonly<Record<StoreKind, Speed>>;

async function measureCatalog(bench: Bench, catalog: BenchCatalog, settings: Settings): Promise<Round[]> {
  const stores = await openStores(bench, 'lookup', settings);
  const load = startChild('lookup-load.ts');
  try {
    bench.say(`${catalog.name}: loading into both stores`);
    const orders = await prepareOrders(stores, catalog);
    for (const kind of STORES) await warmUp(load, orders[kind]);
    const rounds: Round[] = [];
    for (let at = 1; at <= bench.sizes.rounds; at += 1) {
      bench.say(`${catalog.name}: lookups on both stores, round ${at}`);
      const measure = (kind: StoreKind) =>
        measureSpeed(load, stores[kind], { ...orders[kind], seconds: bench.sizes.seconds });
      rounds.push(await onBoth(at, measure));
    }
    return rounds;
  } finally {
    await load.stop();
    for (const kind of STORES) await stores[kind].stop();
  }
}

type Order = Omit<LoadOrder, 'seconds'>;

async function prepareOrders(stores: Stores, catalog: BenchCatalog): Promise<Record<StoreKind, Order>> {
  return {
    embedded: await prepareOrder(stores.embedded, catalog),
    postgres: await prepareOrder(stores.postgres, catalog),
  };
}

export async function prepareOrder(
  { service, waitUntilQuiet }: BenchStore,
  { name, bodies, identifiers }: BenchCatalog,
): Promise<Order> {
  const projectId = await service.createProject(name);
  await runFullUpdate(service, projectId, { bodies });
  await waitUntilQuiet();
  const wanted = { identifiers, perRequest: PER_REQUEST, requests: REQUESTS_OF_100 };
  const paths = listPaths({ ...wanted, path: lookupPath(projectId) });
  return { address: service.address, key: service.key, connections: CONNECTIONS, paths };
}

/** Requests each path once, so that memory holds all answers. */
export const warmUp = (load: Child, order: Order) =>
  load.ask<LoadResult>({ ...order, seconds: 0, requests: order.paths.length });

export async function measureSpeed(load: Child, store: BenchStore, order: LoadOrder): Promise<Speed> {
  const before = store.readCpu();
  const { requests, perSecond, p50, p99 } = await load.ask<LoadResult>(order);
  return { perSecond, p50, p99, cpu: perPiece(store, before, requests) };
}

function toFigures(title: string, rounds: readonly Round[]): Figure[] {
  const middle = (kind: StoreKind, of: (speed: Speed) => number) =>
    round(spreadOf(rounds.map((one) => of(one[kind]))).median);
  const describeBoth = (of: (speed: Speed) => number) =>
    `${middle('postgres', of)} and ${middle('embedded', of)}`;
  return [
    {
      name: `${title}: requests/s, of the embedded store's`,
      spread: spreadOf(rounds.map(({ embedded, postgres }) => postgres.perSecond / embedded.perSecond)),
      unit: '×',
      target: { kind: 'at least', value: 0.5 },
      absolute:
        `${describeBoth(({ perSecond }) => perSecond)} requests/s, ` +
        `processor ${describeBoth(({ cpu }) => cpu.service)} ms a request, ` +
        `PostgreSQL itself ${middle('postgres', ({ cpu }) => cpu.database)} ms`,
    },
    {
      name: `${title}: p99, of the embedded store's`,
      spread: spreadOf(rounds.map(({ embedded, postgres }) => postgres.p99 / embedded.p99)),
      unit: '×',
      absolute: `p99 ${describeBoth(({ p99 }) => p99)} ms, p50 ${describeBoth(({ p50 }) => p50)} ms`,
    },
  ];
}
