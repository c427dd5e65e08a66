import { type BenchCatalog, openRealCatalog, openSyntheticCatalog } from '../support/catalogs.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { runFullUpdate } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { describePostgres } from './postgres-server.ts';
import {
  type Cpu,
  onBoth,
  openStores,
  perPiece,
  STORES,
  type StoreKind,
  type Stores,
} from './postgres-stores.ts';

/** The cost of a full update on PostgreSQL, compared to the embedded store. */
export const postgresIngest: Measurement = {
  name: 'postgres-ingest',
  title: 'PostgreSQL: full update into an empty catalog, and again',
  describeConditions: describePostgres,
  async measure(bench: Bench): Promise<Figure[]> {
    const figures: Figure[] = [];
    for (const open of [openRealCatalog, openSyntheticCatalog]) {
      const catalog = await open(bench);
      figures.push(...toFigures(catalog, await measureCatalog(bench, catalog)));
    }
    return figures;
  },
};

const UPDATES = ['first', 'unchanged', 'changed'] as const;
type Update = (typeof UPDATES)[number];

interface Updated {
  readonly ms: number;
  /** The part of the time that the commit takes. */
  readonly commitMs: number;
  /** Up to the end of the commit, per product. */
  readonly cpu: Cpu;
}

type Round = Readonly<Record<StoreKind, Readonly<Record<Update, Updated>>>>;

async function measureCatalog(bench: Bench, catalog: BenchCatalog): Promise<Round[]> {
  const stores = await openStores(bench, 'ingest');
  try {
    // The first executions are slow on both stores, so they do not count.
    const warmUp = {
      ...catalog,
      bodies: catalog.bodies.slice(0, 1),
      slightlyChanged: catalog.slightlyChanged.slice(0, 1),
    };
    for (const kind of STORES) await update(stores, kind, warmUp);
    const rounds: Round[] = [];
    for (let at = 1; at <= bench.sizes.rounds; at += 1) {
      bench.say(`${catalog.name}: ingest on both stores, round ${at}`);
      rounds.push(await onBoth(at, (kind) => update(stores, kind, catalog)));
    }
    return rounds;
  } finally {
    for (const kind of STORES) await stores[kind].stop();
  }
}

async function update(
  stores: Stores,
  kind: StoreKind,
  { name, count, bodies, slightlyChanged }: BenchCatalog,
): Promise<Record<Update, Updated>> {
  const store = stores[kind];
  const projectId = await store.service.createProject(name);
  const run = async (sent: readonly Buffer[]): Promise<Updated> => {
    const before = store.readCpu();
    const { totalMs, commitMs } = await runFullUpdate(store.service, projectId, { bodies: sent });
    const cpu = perPiece(store, before, count);
    await store.waitUntilQuiet();
    return { ms: totalMs, commitMs, cpu };
  };
  return { first: await run(bodies), unchanged: await run(bodies), changed: await run(slightlyChanged) };
}

const TITLES: Readonly<Record<Update, string>> = {
  first: 'into an empty catalog',
  unchanged: 'again, nothing changed',
  changed: 'again, 1 % changed',
};

function toFigures({ name, count }: BenchCatalog, rounds: readonly Round[]): Figure[] {
  const middle = (kind: StoreKind, of: (updated: Updated) => number, which: Update) =>
    spreadOf(rounds.map((one) => of(one[kind][which]))).median;
  const describeBoth = (show: (kind: StoreKind) => string) => `${show('postgres')} and ${show('embedded')}`;
  const rates = UPDATES.map((which): Figure => {
    const rate = (kind: StoreKind) => round((count / middle(kind, ({ ms }) => ms, which)) * 1_000);
    const commit = (kind: StoreKind) => round(middle(kind, ({ commitMs }) => commitMs, which));
    return {
      name: `${name}, ${TITLES[which]}: products/s, of the embedded store's`,
      spread: spreadOf(rounds.map(({ embedded, postgres }) => embedded[which].ms / postgres[which].ms)),
      unit: '×',
      ...(which === 'first' && { target: { kind: 'at least', value: 0.4 } }),
      absolute: `${describeBoth(rate)} products/s, commit ${describeBoth(commit)} ms`,
    };
  });
  const costs = UPDATES.map((which): Figure => {
    const microseconds = (kind: StoreKind, part: keyof Cpu) =>
      round(middle(kind, ({ cpu }) => cpu[part], which) * 1_000);
    return {
      name: `${name}, ${TITLES[which]}: processor time of the service, of the embedded store's`,
      spread: spreadOf(
        rounds.map(({ embedded, postgres }) => postgres[which].cpu.service / embedded[which].cpu.service),
      ),
      unit: '×',
      absolute:
        `${describeBoth((kind) => microseconds(kind, 'service'))} µs a product; ` +
        `PostgreSQL itself ${microseconds('postgres', 'database')} µs`,
    };
  });
  return [...rates, ...costs];
}
