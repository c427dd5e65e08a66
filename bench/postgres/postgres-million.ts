import { ALL_DIFFER, type Change, type CommitFound, FEW_DIFFER, measureCommit } from '../ingest/commit.ts';
import { PRODUCTS_PER_BATCH, streamBodies } from '../support/catalogs.ts';
import { type Child, startChild } from '../support/child-process.ts';
import type { LoadResult } from '../support/lookup-load.ts';
import { listPaths, lookupPath } from '../support/lookup-paths.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { identifiersBelow } from '../support/million.ts';
import { type Memory, readMemory } from '../support/process-usage.ts';
import type { BenchService } from '../support/service.ts';
import { type FullUpdateTime, runFullUpdate } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { FIRST_VERSION } from '../support/synthetic-products.ts';
import { type DatabaseSize, describePostgres } from './postgres-server.ts';
import { type Cpu, openPostgres, type PostgresBenchStore, perPiece } from './postgres-stores.ts';

/**
 * The basis for estimating larger installations (docs/operating/capacity.md): one large catalog beside two smaller
 * ones.
 */
export const postgresMillion: Measurement = {
  name: 'postgres-million',
  title: 'PostgreSQL: a catalog of 1,000,000 products',
  describeConditions: describePostgres,
  async measure(bench: Bench): Promise<Figure[]> {
    const store = await openPostgres(bench, 'million');
    const load = startChild('lookup-load.ts');
    try {
      const count = bench.sizes.million;
      bench.say(`loading ${count} products into PostgreSQL`);
      const loaded = await loadCatalog(store, count);
      const parts = { bench, store, load, million: loaded };
      const growth = await measureGrowth(parts);
      const all = await measureChange(parts, ALL_DIFFER);
      const few = await measureChange(parts, FEW_DIFFER);
      return [...toLoadFigures(loaded), ...growth, ...all, ...few];
    } finally {
      await load.stop();
      await store.stop();
    }
  },
};

interface LoadedCatalog {
  readonly service: BenchService;
  readonly projectId: number;
  readonly count: number;
  readonly time: FullUpdateTime;
  readonly cpu: Cpu;
  readonly wal: number;
  readonly memory: Memory;
  readonly size: DatabaseSize;
  /** The growth that the catalog caused. */
  readonly bytes: number;
}

interface Parts {
  readonly bench: Bench;
  readonly store: PostgresBenchStore;
  readonly load: Child;
  readonly million: LoadedCatalog;
}

/** WAL and size, including all work that follows the update. */
async function loadCatalog(store: PostgresBenchStore, count: number): Promise<LoadedCatalog> {
  const { service, database } = store;
  const projectId = await service.createProject(`${count}`);
  const before = { cpu: store.readCpu(), wal: await database.readWalEnd(), size: await database.readSize() };
  const time = await runFullUpdate(service, projectId, { bodies: streamBodies(count, FIRST_VERSION) });
  const cpu = perPiece(store, before.cpu, count);
  await store.waitUntilQuiet();
  const size = await database.readSize();
  return {
    service,
    projectId,
    count,
    time,
    cpu,
    wal: (await database.readWalEnd()) - before.wal,
    memory: readMemory(service.pid),
    size,
    bytes: size.bytes - before.size.bytes,
  };
}

const one = (value: number) => spreadOf([value]);

function toLoadFigures({ count, time, cpu, wal, memory, size, bytes }: LoadedCatalog): Figure[] {
  const perProduct = (total: number) => round(total / count);
  const tables = size.tables
    .filter((table) => table.bytes / count >= 1)
    .map((table) => `${table.name} ${perProduct(table.bytes)}`)
    .join(', ');
  return [
    {
      name: 'full update into an empty catalog',
      spread: one((count / time.totalMs) * 1_000),
      unit: 'products/s',
      absolute:
        `${count} products, commit ${round(time.commitMs / 1_000)} s; processor: service ` +
        `${round(cpu.service * 1_000)} µs a product, PostgreSQL ${round(cpu.database * 1_000)} µs`,
    },
    {
      name: 'greatest resident memory of the service, commit included',
      spread: one(memory.peakMib),
      unit: 'MiB',
    },
    {
      name: 'database, for each product',
      spread: one(bytes / count),
      unit: 'bytes',
      absolute: `with indexes: ${tables}`,
    },
    { name: 'WAL of the full update, for each product', spread: one(wal / count), unit: 'bytes' },
  ];
}

const KINDS = [
  { perRequest: 1, requests: 50_000, title: 'one random product' },
  { perRequest: 100, requests: 4_000, title: '100 random products' },
];

/** Uses a process without caches, so that each answer comes from the database. */
async function measureGrowth({ bench, store, load, million }: Parts): Promise<Figure[]> {
  const catalogs: LoadedCatalog[] = [];
  for (const count of [PRODUCTS_PER_BATCH, Math.min(10 * PRODUCTS_PER_BATCH, million.count / 2)]) {
    bench.say(`loading ${count} products into PostgreSQL`);
    catalogs.push(await loadCatalog(store, count));
  }
  catalogs.push(million);
  const reader = await store.startProcess({ RELATA_CACHE_MIB: '0' });
  const figures: Figure[] = [];
  for (const kind of KINDS) {
    const { perRequest, requests, title } = kind;
    bench.say(`lookups of ${title} in catalogs of three sizes`);
    const ask = async ({ projectId, count }: LoadedCatalog) => {
      const wanted = { identifiers: identifiersBelow(count), perRequest, requests };
      const paths = listPaths({ ...wanted, path: lookupPath(projectId) });
      const { address, key } = reader;
      const order = { address, key, paths, seconds: bench.sizes.seconds, connections: 1 };
      return (await load.ask<LoadResult>(order)).p50;
    };
    for (const catalog of catalogs) await ask(catalog);
    const rounds: number[][] = [];
    for (let at = 0; at < bench.sizes.rounds; at += 1) {
      const times: number[] = [];
      for (const catalog of catalogs) times.push(await ask(catalog));
      rounds.push(times);
    }
    figures.push(toGrowthFigure(title, catalogs, rounds));
  }
  return figures;
}

function toGrowthFigure(
  title: string,
  catalogs: readonly LoadedCatalog[],
  rounds: readonly (readonly number[])[],
): Figure {
  const middle = (at: number) => round(spreadOf(rounds.map((times) => Number(times[at]))).median);
  return {
    name: `${title}, read from the database: p50, of the small catalog's`,
    spread: spreadOf(rounds.map((times) => Number(times.at(-1)) / Number(times[0]))),
    unit: '×',
    target: { kind: 'at most', value: 1.5 },
    absolute: catalogs.map(({ count }, at) => `${middle(at)} ms of ${count}`).join(', '),
  };
}

async function measureChange({ bench, store, load, million }: Parts, change: Change): Promise<Figure[]> {
  const { database, waitUntilQuiet } = store;
  const before = { wal: await database.readWalEnd(), size: await database.readSize() };
  const found = await measureCommit({ bench, million, load, waitUntilQuiet }, change);
  const wal = (await database.readWalEnd()) - before.wal;
  const grown = (await database.readSize()).bytes - before.size.bytes;
  return toChangeFigures(change, { ...found, wal, grown, count: million.count });
}

interface FoundChange extends CommitFound {
  readonly wal: number;
  readonly grown: number;
  readonly count: number;
}

function toChangeFigures({ title, version }: Change, found: FoundChange): Figure[] {
  const { alone, during, time, wal, grown, count } = found;
  const changed = Math.ceil(count / version.every);
  return [
    {
      name: `${title}: p99 of lookups beside the commit`,
      spread: one(during.p99),
      unit: 'ms',
      absolute: `p50 ${round(during.p50)} ms, longest ${round(during.longest)} ms; without: p99 ${round(alone.p99)} ms, longest ${round(alone.longest)} ms`,
    },
    {
      name: `${title}: answers that mix the old and the new catalog`,
      spread: one(during.mixtures),
      unit: 'mixtures',
      target: { kind: 'at most', value: 0 },
      absolute: `of ${during.requests}; versions seen: ${during.versions.join(', ')}`,
    },
    { name: `${title}: commit, from the call to FINISHED`, spread: one(time.commitMs / 1_000), unit: 's' },
    {
      name: `${title}: WAL of the full update, for each product of the catalog`,
      spread: one(wal / count),
      unit: 'bytes',
      absolute: `${round(wal / changed)} for each that changed; the database grew by ${round(grown / count)} for each product`,
    },
  ];
}
