import { setTimeout as pause } from 'node:timers/promises';
import { type BenchCatalog, openRealCatalog, openSyntheticCatalog } from '../support/catalogs.ts';
import { type Child, startChild } from '../support/child-process.ts';
import type { LoadOrder, LoadResult } from '../support/lookup-load.ts';
import { listPaths, lookupPath } from '../support/lookup-paths.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { waitUntilQuiet } from '../support/process-usage.ts';
import type { BenchService } from '../support/service.ts';
import { createClient, runFullUpdate } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { startUploads } from '../support/uploads.ts';

/** Requests per second, whether or not answers arrive. */
const RATE = 1_000;
const CONNECTIONS = 64;
const PATHS = 5_000;
/** The uploads start this long before the first lookup counts. */
const LEAD_MS = 500;

/** The wait of a small lookup during large uploads, compared to a server that only receives them. */
export const besideUploads: Measurement = {
  name: 'beside-uploads',
  title: `Lookup of one product, ${RATE} a second at fixed instants, beside uploads of 15 MB`,
  async measure(bench: Bench): Promise<Figure[]> {
    const service = await bench.startService('beside-uploads');
    const bare = startChild('bare-server.ts');
    const load = startChild('lookup-load.ts');
    const catalog = await openRealCatalog(bench);
    const { bodies } = await openSyntheticCatalog(bench);
    const rounds: Round[] = [];
    try {
      for (let at = 1; at <= bench.sizes.rounds; at += 1) {
        bench.say(`lookups beside uploads: round ${at}`);
        rounds.push(await runRound({ bench, service, bare, load, catalog, bodies }));
      }
    } finally {
      for (const process of [service, bare, load]) await process.stop();
    }
    return toFigures(rounds);
  },
};

interface Parts {
  readonly bench: Bench;
  readonly service: BenchService;
  readonly bare: Child;
  readonly load: Child;
  readonly catalog: BenchCatalog;
  readonly bodies: readonly Buffer[];
}

interface Round {
  readonly service: LoadResult;
  readonly bare: LoadResult;
  /** The service without uploads. */
  readonly alone: LoadResult;
  readonly uploads: number;
}

/** Uploads go to the catalog of the lookups, in a full update that is never committed. */
async function runRound({ bench, service, bare, load, catalog, bodies }: Parts): Promise<Round> {
  const projectId = await service.createProject(`Beside uploads ${performance.now()}`);
  await runFullUpdate(service, projectId, { bodies: catalog.bodies.slice(0, 1) });
  await waitUntilQuiet(service.pid);
  const identifiers = catalog.identifiers.slice(0, 10_000);
  const paths = listPaths({ path: lookupPath(projectId), identifiers, perRequest: 1, requests: PATHS });
  const answers: Buffer[] = [];
  for (const path of paths) answers.push(Buffer.from((await service.call('GET', path)).text));
  const address = await bare.ask<string>(answers);
  const order = {
    key: service.key,
    paths,
    seconds: bench.sizes.seconds,
    connections: CONNECTIONS,
    rate: RATE,
  };
  const ofService: LoadOrder = { ...order, address: service.address };

  const alone = await load.ask<LoadResult>(ofService);
  await service.succeed('POST', `/products/batch/initiate?projectId=${projectId}`);
  const path = `/products/batch/upload?projectId=${projectId}`;
  const uploading = startUploads(service, { path, bodies });
  await pause(LEAD_MS);
  const beside = await load.ask<LoadResult>(ofService);
  const starts = await uploading.stop();
  await waitUntilQuiet(service.pid);

  const receiver = createClient(address, service.key);
  const receiving = startUploads(receiver, { path, bodies, starts });
  await pause(LEAD_MS);
  const received = await load.ask<LoadResult>({ ...order, address });
  await receiving.stop();
  receiver.close();
  return { service: beside, bare: received, alone, uploads: starts.length };
}

function toFigures(rounds: readonly Round[]): Figure[] {
  const of = (kind: 'service' | 'bare' | 'alone', field: 'p50' | 'p99' | 'p999' | 'longest') =>
    spreadOf(rounds.map((one) => one[kind][field]));
  const uploads = rounds.reduce((sum, one) => sum + one.uploads, 0) / rounds.length;
  return [
    {
      name: 'p99, of a bare server that only receives the bodies at the same pace',
      spread: spreadOf(rounds.map(({ service, bare }) => service.p99 / bare.p99)),
      unit: '×',
      target: { kind: 'at most', value: 1.5 },
      absolute:
        `p99 ${round(of('service', 'p99').median)} and ${round(of('bare', 'p99').median)} ms, ` +
        `${round(uploads)} uploads a round; p50 ${round(of('service', 'p50').median)} and ${round(of('bare', 'p50').median)} ms`,
    },
    {
      name: 'p99 beside uploads',
      spread: of('service', 'p99'),
      unit: 'ms',
      target: { kind: 'at most', value: 10 },
    },
    { name: 'p99.9 beside uploads', spread: of('service', 'p999'), unit: 'ms' },
    { name: 'p99 without uploads', spread: of('alone', 'p99'), unit: 'ms' },
  ];
}
