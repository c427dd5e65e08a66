import type { Bench } from '../support/measurement.ts';
import { readCpuMs, waitUntilIdle } from '../support/process-usage.ts';
import type { BenchService, Settings } from '../support/service.ts';
import { type BenchDatabase, openPostgresServer } from './postgres-server.ts';

/** A service on one of the stores, initially empty. */
export interface BenchStore {
  readonly service: BenchService;
  /** Settings by which other programs find its store. */
  readonly settings: Settings;
  /** Processor time of all its processes. */
  readCpu(): Cpu;
  /** Waits until neither the service nor the database has work left. @returns the wait in ms */
  waitUntilQuiet(): Promise<number>;
  stop(): Promise<void>;
}

/** Processor time in ms; the embedded store has no database. */
export interface Cpu {
  readonly service: number;
  readonly database: number;
}

export interface PostgresBenchStore extends BenchStore {
  readonly database: BenchDatabase;
  /** Starts another process on the same database. */
  startProcess(settings?: Settings): Promise<BenchService>;
}

/** Autovacuum processes new rows at its own speed. */
const LONGEST_QUIET_MS = 900_000;

export const STORES = ['embedded', 'postgres'] as const;
export type StoreKind = (typeof STORES)[number];
export type Stores = Readonly<Record<StoreKind, BenchStore>>;

export async function openStores(bench: Bench, name: string, settings: Settings = {}): Promise<Stores> {
  return {
    embedded: await openEmbedded(bench, name, settings),
    postgres: await openPostgres(bench, name, settings),
  };
}

export async function openEmbedded(bench: Bench, name: string, settings: Settings): Promise<BenchStore> {
  const service = await bench.startService(name, settings);
  const readCpu = () => ({ service: readCpuMs(service.pid), database: 0 });
  return {
    service,
    settings: { RELATA_DATA_DIR: service.dataDir },
    readCpu,
    waitUntilQuiet: () => waitUntilIdle(name, () => readCpu().service),
    stop: service.stop,
  };
}

export async function openPostgres(
  bench: Bench,
  name: string,
  settings: Settings = {},
): Promise<PostgresBenchStore> {
  const server = await openPostgresServer(bench);
  const database = await server.createDatabase();
  const services: BenchService[] = [];
  const start = async (further: Settings = {}) => {
    const all = { RELATA_DATABASE_URL: database.url, ...settings, ...further };
    const service = await bench.startService(`${name}-postgres`, all);
    services.push(service);
    return service;
  };
  const service = await start();
  let ended = 0;
  const readCpu = () => ({
    service: services.reduce((sum, { pid }) => sum + readCpuMs(pid), 0),
    database: server.readCpuMs(),
  });
  return {
    service,
    settings: { RELATA_DATA_DIR: service.dataDir, RELATA_DATABASE_URL: database.url },
    database,
    // The account key is that of the first process.
    startProcess: (further) => start({ ...further, RELATA_ACCOUNT_KEY: undefined }),
    readCpu,
    waitUntilQuiet() {
      const readAll = () => readCpu().service + readCpu().database;
      return waitUntilIdle(`${name} on PostgreSQL`, readAll, LONGEST_QUIET_MS);
    },
    async stop() {
      if (ended++ > 0) return;
      for (const one of services) await one.stop();
      await database.drop();
    },
  };
}

/** The order alternates from round to round. */
export const inTurn = (round: number): readonly StoreKind[] =>
  round % 2 === 0 ? STORES.toReversed() : STORES;

/** Runs the same work on both stores, one after the other. */
export async function onBoth<Found>(
  round: number,
  measure: (kind: StoreKind) => Promise<Found>,
): Promise<Readonly<Record<StoreKind, Found>>> {
  const found = new Map<StoreKind, Found>();
  for (const kind of inTurn(round)) found.set(kind, await measure(kind));
  return Object.fromEntries(found) as Record<StoreKind, Found>;
}

/** @returns the usage since `before`, divided by `count` */
export function perPiece(store: BenchStore, before: Cpu, count: number): Cpu {
  const now = store.readCpu();
  return {
    service: (now.service - before.service) / count,
    database: (now.database - before.database) / count,
  };
}
