import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { openMillion } from '../support/million.ts';
import { readCpuMs, readMemory, waitUntilQuiet } from '../support/process-usage.ts';
import type { BenchService } from '../support/service.ts';
import { type TaskAnswer, waitUntilFinished } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';

/** The cost of publishing a catalog with and without related products, compared to an export of it. */
export const channels: Measurement = {
  name: 'channels',
  title:
    'A channel is built of 1,000,000 products, with related products and without, against the export as ndjson',
  async measure(bench: Bench): Promise<Figure[]> {
    const { service, projectId, count } = await openMillion(bench);
    const root = `/management/projects/${projectId}`;
    bench.say('building the index of a relation');
    await relate(service, root);
    const plain = await service.succeed<Created>('POST', `${root}/channels`, GOOGLE);
    const relations = [{ tag: TAG, as: 'substitute', limit: 5 }];
    const related = await service.succeed<Created>('POST', `${root}/channels`, { ...GOOGLE, relations });
    const rounds: Round[] = [];
    for (let at = 1; at <= bench.sizes.rounds; at += 1) {
      bench.say(`export and builds: round ${at}`);
      const exported = await measure(service, () => readExport(service, root));
      const alone = await measure(service, () => build(service, root, plain));
      const together = await measure(service, () => build(service, root, related));
      rounds.push({ exported, alone, together });
    }
    return toFigures(count, rounds);
  },
};

const TAG = 'same-energy-class';
const GOOGLE = {
  name: 'Google',
  format: { type: 'google-merchant' },
  mapping: {
    id: { field: 'identifier' },
    title: { field: 'name' },
    description: { template: '{Brand} {name}' },
    link: { template: 'https://shop.test/{identifier}' },
    image_link: { template: 'https://shop.test/{identifier}.jpg' },
    availability: { constant: 'in_stock' },
    price: { constant: '19.99 EUR' },
    brand: { attribute: 'Brand' },
    color: { attribute: 'Colour' },
    material: { attribute: 'Material' },
  },
};

interface Created {
  readonly id: number;
}

interface Time {
  readonly ms: number;
  /** Processor time of all threads of the service. */
  readonly cpuMs: number;
  /** The peak of resident memory minus the size before. */
  readonly aboveMib: number;
}

type Round = Readonly<Record<'exported' | 'alone' | 'together', Time>>;

/** Products of one brand, kind of material and colour: some dozens in a million. */
async function relate(service: BenchService, root: string): Promise<void> {
  const every = { all: [] };
  const match = ['Brand', 'Colour', 'Material', 'Country of origin'].map((name) => ({
    target: name,
    operator: 'equals',
    source: name,
  }));
  const sort = [{ attribute: 'Length', direction: 'asc' }];
  const relation = { name: TAG, tag: TAG, source: every, target: every, match, sort };
  const { id } = await service.succeed<Created>('POST', `${root}/relations`, relation);
  for (;;) {
    const { state } = await service.succeed<{ state: string }>('GET', `${root}/relations/${id}`);
    if (state === 'ready') break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  await waitUntilQuiet(service.pid);
}

async function readExport(service: BenchService, root: string): Promise<void> {
  const response = await fetch(`${service.address}${root}/products?format=ndjson`, {
    headers: { authorization: `Bearer ${service.key}`, 'accept-encoding': 'identity' },
  });
  for await (const _ of response.body ?? []);
}

async function build(service: BenchService, root: string, { id }: Created): Promise<void> {
  const { task } = await service.succeed<TaskAnswer>('POST', `${root}/channels/${id}/build`);
  await waitUntilFinished(service, task.id);
}

const WATCH_MS = 100;

async function measure(service: BenchService, work: () => Promise<void>): Promise<Time> {
  const { presentMib } = readMemory(service.pid);
  let mostMib = presentMib;
  const watch = setInterval(() => {
    mostMib = Math.max(mostMib, readMemory(service.pid).presentMib);
  }, WATCH_MS);
  const before = readCpuMs(service.pid);
  const started = performance.now();
  await work();
  const ms = performance.now() - started;
  const cpuMs = readCpuMs(service.pid) - before;
  clearInterval(watch);
  await waitUntilQuiet(service.pid);
  return { ms, cpuMs, aboveMib: mostMib - presentMib };
}

function toFigures(count: number, rounds: readonly Round[]): Figure[] {
  const rate = ({ ms }: Time) => round((count / ms) * 1_000);
  const cost = ({ cpuMs }: Time) => round((cpuMs / count) * 1_000);
  const [first] = rounds;
  const figures = (['alone', 'together'] as const).flatMap((kind): Figure[] => {
    const name = kind === 'alone' ? 'without related products' : 'with five related products each';
    const compare = (of: (time: Time) => number) =>
      spreadOf(rounds.map((one) => of(one.exported) / of(one[kind])));
    const describe = (of: (time: Time) => string, unit: string) =>
      `${first && of(first[kind])} and ${first && of(first.exported)} ${unit}`;
    return [
      {
        name: `${name}: products/s, of the export`,
        spread: compare(({ ms }) => ms),
        unit: '×',
        target: { kind: 'at least', value: 0.5 },
        absolute: describe(rate, 'products/s'),
      },
      {
        name: `${name}: processor time of the export, of that of the build`,
        spread: compare(({ cpuMs }) => cpuMs),
        unit: '×',
        absolute: describe(cost, 'µs a product'),
      },
      {
        name: `${name}: greatest resident memory above idle`,
        spread: spreadOf(rounds.map((one) => one[kind].aboveMib)),
        unit: 'MiB',
        target: { kind: 'at most', value: 300 },
      },
    ];
  });
  return figures;
}
