import { setTimeout as pause } from 'node:timers/promises';
import { streamBodies } from '../support/catalogs.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { openMillion } from '../support/million.ts';
import { readCpuMs, waitUntilQuiet } from '../support/process-usage.ts';
import type { BenchService } from '../support/service.ts';
import { runFullUpdate } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { FIRST_VERSION, startRandom } from '../support/synthetic-products.ts';
import { startUploads } from '../support/uploads.ts';

/** The wait for the first hits of a search, with and without uploads to the same catalog, and the cost of a search. */
export const search: Measurement = {
  name: 'search',
  title: 'A search of two words in 1,000,000 products, one after another, alone and beside uploads of 15 MB',
  async measure(bench: Bench): Promise<Figure[]> {
    const { service, projectId, count } = await openMillion(bench);
    bench.say('making the index of search');
    const before = readCpuMs(service.pid);
    const indexMs = await makeIndex(service, projectId);
    await waitUntilQuiet(service.pid);
    const index: IndexCost = { ms: indexMs, cpuMs: readCpuMs(service.pid) - before, products: count };
    const rounds: Round[] = [];
    const typing: number[] = [];
    for (let at = 1; at <= bench.sizes.rounds; at += 1) {
      bench.say(`typing errors: round ${at}`);
      typing.push(await compareTyping(service, projectId));
      bench.say(`searches: round ${at}`);
      const ask = () => searchFor(service, projectId, bench.sizes.seconds);
      const alone = await ask();
      await service.succeed('POST', `/products/batch/initiate?projectId=${projectId}`);
      const path = `/products/batch/upload?projectId=${projectId}`;
      const bodies = [...streamBodies(UPLOADED, { version: at + 1, every: 100 })];
      const uploading = startUploads(service, { path, bodies });
      const beside = await ask();
      await uploading.stop();
      await waitUntilQuiet(service.pid);
      rounds.push({ alone, beside });
    }
    return [...toFigures(rounds, { index, typing }), ...(await compareUpdates(bench))];
  },
};

/** The number of products in the repeatedly sent bodies. */
const UPLOADED = 40_000;
const WORDS = {
  colours: ['black', 'white', 'red', 'green', 'blue'],
  kinds: ['drills', 'saws', 'pumps', 'lamps', 'chairs'],
  materials: ['steel', 'oak', 'glass', 'brass', 'cotton'],
};

interface Waits {
  readonly p50: number;
  readonly p95: number;
}

interface Round {
  readonly alone: Waits;
  readonly beside: Waits;
}

/** Searches without an index take a core for 150 ms each, so without pauses they would dominate the result. */
const ASK_EVERY_MS = 500;

/** The first search starts the index. Until it is complete, searches find a part of the catalog. */
async function makeIndex(service: BenchService, projectId: number): Promise<number> {
  const start = performance.now();
  for (;;) {
    const { status, text } = await service.call('GET', pathOf(projectId, 'red lamps'));
    if (status !== 200) throw new Error(text);
    if (!text.includes('"partial":true')) return performance.now() - start;
    await pause(ASK_EVERY_MS);
  }
}

const pathOf = (projectId: number, words: string) =>
  `/search/products?projectId=${projectId}&q=${encodeURIComponent(words)}`;

/** Two words of many products, two words of few, and one word of a single product with a shortened second word. */
function* listQuestions(): Generator<string, never> {
  const random = startRandom(1);
  const pick = (words: readonly string[]) => words[random(words.length)] ?? '';
  for (;;) {
    yield `${pick(WORDS.colours)} ${pick(WORDS.kinds)}`;
    yield `brandwerk ${pick(WORDS.materials)}`;
    yield `${random(40_000)} ${pick(WORDS.kinds)}`;
    yield `model ${String(random(9_000) + 1_000)}`;
  }
}

async function searchFor(service: BenchService, projectId: number, seconds: number): Promise<Waits> {
  const waits: number[] = [];
  const end = performance.now() + seconds * 1_000;
  for (const words of listQuestions()) {
    const start = performance.now();
    if (start > end) break;
    await service.succeed('GET', pathOf(projectId, words));
    waits.push(performance.now() - start);
  }
  waits.sort((a, b) => a - b);
  const at = (share: number) => waits[Math.floor(waits.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95) };
}

/** Pairs of common words. */
const TYPED = 20;

/** @returns the processor time of searches with a typing error in one of two words, compared to searches without */
async function compareTyping(service: BenchService, projectId: number): Promise<number> {
  const { colours, kinds } = WORDS;
  const pairs = Array.from({ length: TYPED }, (_, at) => [colours[at % 5] ?? '', kinds[(at >> 2) % 5] ?? '']);
  const measure = async (write: (kind: string) => string): Promise<number> => {
    const before = readCpuMs(service.pid);
    for (const [colour, kind = ''] of pairs)
      await service.succeed('GET', pathOf(projectId, `${colour} ${write(kind)}`));
    return readCpuMs(service.pid) - before;
  };
  const right = await measure((kind) => kind);
  // The last two letters are swapped.
  const wrong = await measure((kind) => `${kind.slice(0, -2)}${kind.at(-1)}${kind.at(-2)}`);
  return wrong / right;
}

interface Cost {
  readonly ms: number;
  /** Processor time of all threads of the service. */
  readonly cpuMs: number;
}

interface IndexCost extends Cost {
  readonly products: number;
}

/** Full updates of changed products, in turn for a project without searches and a project with an index. */
async function compareUpdates(bench: Bench): Promise<Figure[]> {
  const service = await bench.startService('search-updates');
  const [quiet, searched] = [await service.createProject('Quiet'), await service.createProject('Searched')];
  const update = async (projectId: number, version: number): Promise<Cost> => {
    const before = readCpuMs(service.pid);
    const bodies = streamBodies(bench.sizes.synthetic, { ...FIRST_VERSION, version });
    const { totalMs } = await runFullUpdate(service, projectId, { bodies });
    await waitUntilQuiet(service.pid);
    return { ms: totalMs, cpuMs: readCpuMs(service.pid) - before };
  };
  for (const projectId of [quiet, searched]) await update(projectId, 1);
  await makeIndex(service, searched);
  const pairs: Record<'with' | 'without', Cost>[] = [];
  for (let at = 1; at <= bench.sizes.rounds; at += 1) {
    bench.say(`full updates with and without search: round ${at}`);
    pairs.push({ without: await update(quiet, at + 1), with: await update(searched, at + 1) });
  }
  await service.stop();
  const compare = (of: (one: Cost) => number) =>
    spreadOf(pairs.map((pair) => of(pair.with) / of(pair.without)));
  return [
    {
      name: 'full update of a project that is searched, of one that is not',
      spread: compare(({ ms }) => ms),
      unit: '×',
    },
    { name: 'the same, processor time with the index', spread: compare(({ cpuMs }) => cpuMs), unit: '×' },
  ];
}

/** On two otherwise idle cores. */
const SECONDS_OF_A_MILLION = 100;

function toFigures(
  rounds: readonly Round[],
  { index, typing }: { index: IndexCost; typing: readonly number[] },
): Figure[] {
  const of = (kind: keyof Round, field: keyof Waits) => spreadOf(rounds.map((one) => one[kind][field]));
  const target = { kind: 'at most', value: 50 } as const;
  const describe = (kind: keyof Round) => `p50 ${round(of(kind, 'p50').median)} ms`;
  return [
    { name: 'p95 alone', spread: of('alone', 'p95'), unit: 'ms', target, absolute: describe('alone') },
    {
      name: 'p95 beside uploads',
      spread: of('beside', 'p95'),
      unit: 'ms',
      target,
      absolute: describe('beside'),
    },
    {
      name: 'two words, one with a typing error: processor time, of two words without',
      spread: spreadOf(typing),
      unit: '×',
      target: { kind: 'at most', value: 1.5 },
    },
    {
      name: 'making the index at the first search',
      spread: spreadOf([index.ms / 1_000]),
      unit: 's',
      target: { kind: 'at most', value: (SECONDS_OF_A_MILLION * index.products) / 1_000_000 },
      absolute: `${round((index.ms / index.products) * 1_000)} µs a product, ${round((index.cpuMs / index.products) * 1_000)} µs of processor time`,
    },
  ];
}
