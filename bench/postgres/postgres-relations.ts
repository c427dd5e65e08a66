import {
  createRelatedProject,
  forgetAnswers,
  listBulkPaths,
  type RelatedCatalog,
} from '../relations/relation-catalogs.ts';
import { TEN_RELATIONS } from '../relations/relation-rules.ts';
import { openSyntheticCatalog, PRODUCTS_PER_BATCH } from '../support/catalogs.ts';
import { type Child, startChild } from '../support/child-process.ts';
import type { LoadOrder } from '../support/lookup-load.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { runFullUpdate } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { measureSpeed, type Speed } from './postgres-lookup.ts';
import { describePostgres } from './postgres-server.ts';
import {
  type BenchStore,
  onBoth,
  openStores,
  STORES,
  type StoreKind,
  type Stores,
} from './postgres-stores.ts';

const BULK = { perRequest: 100, limit: 5, requests: 200 };
const WARM_UP_SECONDS = 1;

/** The cost of related products on PostgreSQL, compared to the embedded store. */
export const postgresRelations: Measurement = {
  name: 'postgres-relations',
  title: `PostgreSQL: related products of ${BULK.perRequest} by ten relations, ${BULK.limit} of each`,
  describeConditions: describePostgres,
  async measure(bench: Bench): Promise<Figure[]> {
    const stores = await openStores(bench, 'relations');
    const load = startChild('lookup-load.ts');
    try {
      const catalogs = await loadCatalogs(bench, stores);
      const rounds: Round[] = [];
      for (let at = 1; at <= bench.sizes.rounds; at += 1) {
        bench.say(`related products on both stores, round ${at}`);
        rounds.push(await onBoth(at, (kind) => ask({ bench, load, store: stores[kind] }, catalogs[kind])));
      }
      return toFigures(rounds);
    } finally {
      await load.stop();
      for (const kind of STORES) await stores[kind].stop();
    }
  },
};

const MANNERS = ['first', 'one', 'eight'] as const;
type Manner = (typeof MANNERS)[number];
type Round = Readonly<Record<StoreKind, Readonly<Record<Manner, Speed>>>>;

async function loadCatalogs(bench: Bench, stores: Stores): Promise<Record<StoreKind, RelatedCatalog>> {
  const count = bench.sizes.synthetic / 2;
  const { bodies } = await openSyntheticCatalog(bench);
  const load = async ({ service, waitUntilQuiet }: BenchStore): Promise<RelatedCatalog> => {
    bench.say(`loading ${count} products with relations`);
    const projectId = await createRelatedProject(service, { name: 'Related', definitions: TEN_RELATIONS });
    await runFullUpdate(service, projectId, { bodies: bodies.slice(0, count / PRODUCTS_PER_BATCH) });
    await waitUntilQuiet();
    return { service, projectId, count };
  };
  return { embedded: await load(stores.embedded), postgres: await load(stores.postgres) };
}

interface Parts {
  readonly bench: Bench;
  readonly load: Child;
  readonly store: BenchStore;
}

async function ask({ bench, load, store }: Parts, catalog: RelatedCatalog): Promise<Record<Manner, Speed>> {
  const { address, key } = store.service;
  const order = { address, key, paths: listBulkPaths(catalog, BULK) };
  await forgetAnswers(catalog);
  await store.waitUntilQuiet();
  const measure = (how: Omit<LoadOrder, keyof typeof order>) =>
    measureSpeed(load, store, { ...order, ...how });
  const first = await measure({ connections: 1, seconds: 0, requests: BULK.requests });
  const measureWarm = async (connections: number) => {
    await measure({ connections, seconds: WARM_UP_SECONDS });
    return measure({ connections, seconds: bench.sizes.seconds });
  };
  return { first, one: await measureWarm(1), eight: await measureWarm(8) };
}

const TITLES: Readonly<Record<Manner, string>> = {
  first: 'asked for the first time, 1 connection',
  one: 'in memory, 1 connection',
  eight: 'in memory, 8 connections',
};

function toFigures(rounds: readonly Round[]): Figure[] {
  return MANNERS.map((manner) => {
    const middle = (kind: StoreKind, of: (speed: Speed) => number) =>
      round(spreadOf(rounds.map((one) => of(one[kind][manner]))).median);
    const describeBoth = (of: (speed: Speed) => number) =>
      `${middle('postgres', of)} and ${middle('embedded', of)}`;
    return {
      name: `${TITLES[manner]}: p50, of the embedded store's`,
      spread: spreadOf(rounds.map(({ embedded, postgres }) => postgres[manner].p50 / embedded[manner].p50)),
      unit: '×',
      target: { kind: 'at most', value: 3 },
      absolute:
        `p50 ${describeBoth(({ p50 }) => p50)} ms, p99 ${describeBoth(({ p99 }) => p99)} ms, ` +
        `processor ${describeBoth(({ cpu }) => cpu.service)} ms a request, ` +
        `PostgreSQL itself ${middle('postgres', ({ cpu }) => cpu.database)} ms`,
    };
  });
}
