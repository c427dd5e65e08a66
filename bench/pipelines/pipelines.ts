import {
  type CatalogTable,
  type FileProduct,
  toCsv,
  toTable,
} from '../../server/test/support/catalogs/catalog-files.ts';
import { type BenchCatalog, openRealCatalog } from '../support/catalogs.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { readCpuMs, waitUntilQuiet } from '../support/process-usage.ts';
import type { BenchService } from '../support/service.ts';
import { runFullUpdate, type TaskAnswer, waitUntilFinished } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';

/** The cost of importing a catalog as a csv file, compared to a client that sends it over HTTP. */
export const pipelines: Measurement = {
  name: 'pipelines',
  title: 'A pipeline reads a catalog as csv into an empty project, against a full update over HTTP',
  async measure(bench: Bench): Promise<Figure[]> {
    const catalog = await openRealCatalog(bench);
    const csv = await describeAsCsv(catalog);
    const service = await bench.startService('pipelines');
    const rounds: Round[] = [];
    try {
      await runRound({ service, catalog, csv }, 0);
      for (let at = 1; at <= bench.sizes.rounds; at += 1) {
        bench.say(`${catalog.name} as csv: round ${at}`);
        rounds.push(await runRound({ service, catalog, csv }, at));
      }
    } finally {
      await service.stop();
    }
    return toFigures(catalog, rounds);
  },
};

interface Csv {
  readonly bytes: Buffer;
  readonly mapping: object;
}

interface Round {
  readonly http: Time;
  readonly pipeline: Time;
}

interface Time {
  readonly ms: number;
  /** Processor time of all threads of the service. */
  readonly cpuMs: number;
}

async function describeAsCsv({ bodies }: BenchCatalog): Promise<Csv> {
  const products = bodies.flatMap(
    (body) => (JSON.parse(body.toString()) as { products: FileProduct[] }).products,
  );
  const table: CatalogTable = toTable(products);
  return { bytes: Buffer.from(toCsv(table)), mapping: table.mapping };
}

interface RoundParts {
  readonly service: BenchService;
  readonly catalog: BenchCatalog;
  readonly csv: Csv;
}

async function runRound({ service, catalog, csv }: RoundParts, at: number): Promise<Round> {
  const byHttp = await service.createProject(`${catalog.name} by HTTP ${at}`);
  const http = await measure(service, async () => void (await runFullUpdate(service, byHttp, catalog)));
  const byPipeline = await service.createProject(`${catalog.name} by a pipeline ${at}`);
  const path = `/management/projects/${byPipeline}/pipelines`;
  const created = await service.succeed<{ id: number }>('POST', path, {
    name: 'csv',
    source: { type: 'upload' },
    format: { type: 'csv' },
    mapping: csv.mapping,
    mode: 'full',
    trigger: { type: 'manual' },
  });
  const pipeline = await measure(service, async () => {
    const upload = `${path}/${created.id}/upload?name=catalog.csv`;
    const { task } = await service.succeed<TaskAnswer>('POST', upload, csv.bytes);
    await waitUntilFinished(service, task.id);
  });
  return { http, pipeline };
}

async function measure(service: BenchService, work: () => Promise<void>): Promise<Time> {
  const before = readCpuMs(service.pid);
  const started = performance.now();
  await work();
  const ms = performance.now() - started;
  const cpuMs = readCpuMs(service.pid) - before;
  await waitUntilQuiet(service.pid);
  return { ms, cpuMs };
}

function toFigures({ name, count }: BenchCatalog, rounds: readonly Round[]): Figure[] {
  const median = (values: readonly number[]) => spreadOf(values).median;
  const rate = (kind: keyof Round) => round((count / median(rounds.map((one) => one[kind].ms))) * 1_000);
  const cost = (kind: keyof Round) => round((median(rounds.map((one) => one[kind].cpuMs)) / count) * 1_000);
  return [
    {
      name: `${name}: products/s, of the full update over HTTP`,
      spread: spreadOf(rounds.map(({ http, pipeline }) => http.ms / pipeline.ms)),
      unit: '×',
      target: { kind: 'at least', value: 0.5 },
      absolute: `${rate('pipeline')} and ${rate('http')} products/s, the file sent in included`,
    },
    {
      name: `${name}: processor time, of the full update over HTTP`,
      spread: spreadOf(rounds.map(({ http, pipeline }) => pipeline.cpuMs / http.cpuMs)),
      unit: '×',
      absolute: `${cost('pipeline')} and ${cost('http')} µs a product`,
    },
  ];
}
