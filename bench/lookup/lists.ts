import { startChild } from '../support/child-process.ts';
import type { LoadOrder, LoadResult } from '../support/lookup-load.ts';
import { listPaths, lookupPath } from '../support/lookup-paths.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { identifiersBelow, type MillionCatalog, openMillion } from '../support/million.ts';
import { percentile, round, spreadOf } from '../support/statistics.ts';

const PAGE = 500;
const PAGES = 50;
const CATEGORY = ['All products'];
/** Lookups per second in the other project. */
const RATE = 200;
const CONNECTIONS = 8;

/** The requests of the console for a large catalog: table pages, all products of a category, and coverage. */
export const lists: Measurement = {
  name: 'lists',
  title: 'Lists and coverage of a catalog of 1,000,000 products',
  async measure(bench: Bench): Promise<Figure[]> {
    const million = await openMillion(bench);
    const products = `/management/projects/${million.projectId}/products`;
    const coverage = `/management/projects/${million.projectId}/ontology/coverage`;
    bench.say('the index of search is made');
    const indexing = await makeIndex(million);
    const inCategory = `${products}?limit=1000&category=${JSON.stringify(CATEGORY)}`;
    const rounds: Record<'exported' | 'found' | 'counted' | 'sampled', number>[] = [];
    for (let at = 1; at <= bench.sizes.rounds; at += 1) {
      bench.say(`export, category and coverage: round ${at}`);
      rounds.push({
        exported: await drain(million, `${products}?format=ndjson`),
        found: await drainPages(million, inCategory),
        counted: await drain(million, `${coverage}?sample=all`),
        sampled: await drain(million, coverage),
      });
    }
    bench.say('lookups of another project beside them');
    const neighbour = await lookUpBeside(bench, million, () => [
      drain(million, `${products}?format=ndjson`),
      drainPages(million, inCategory),
      drain(million, `${coverage}?sample=all`),
    ]);
    bench.say('pages of the table');
    const byIdentifier = await readPages(million, `${products}?format=table&limit=${PAGE}`);
    const byCategory = await readPages(
      million,
      `${products}?format=table&limit=${PAGE}&category=${JSON.stringify(CATEGORY)}`,
    );
    const seconds = (of: keyof (typeof rounds)[number]) =>
      round(spreadOf(rounds.map((one) => one[of] / 1_000)).median);
    return [
      {
        name: 'products/s of all pages of a category that has every product, of an export',
        spread: spreadOf(rounds.map(({ found, exported }) => exported / found)),
        unit: '×',
        absolute: `${seconds('found')} s, export ${seconds('exported')} s`,
      },
      {
        name: 'products/s of the coverage of all products, of an export',
        spread: spreadOf(rounds.map(({ counted, exported }) => exported / counted)),
        unit: '×',
        absolute: `${seconds('counted')} s; by a sample of 50,000 ${seconds('sampled')} s`,
      },
      {
        name: 'one product of another project beside all three at once: p99',
        spread: spreadOf(neighbour.beside.map(({ p99 }) => p99)),
        unit: 'ms',
        target: { kind: 'at most', value: 50 },
        absolute: `p50 ${round(spreadOf(neighbour.beside.map(({ p50 }) => p50)).median)} ms; p99 without ${round(neighbour.alone.p99)} ms`,
      },
      {
        name: `a page of ${PAGE} by category, p50, of one by identifier`,
        spread: spreadOf([percentile(byCategory, 50) / percentile(byIdentifier, 50)]),
        unit: '×',
        absolute: `${round(percentile(byCategory, 50))} and ${round(percentile(byIdentifier, 50))} ms, p99 ${round(percentile(byCategory, 99))} and ${round(percentile(byIdentifier, 99))} ms; the index was made within ${round(indexing / 1_000)} s`,
      },
    ];
  },
};

/** @returns ms until the index contains all products */
async function makeIndex({ service, projectId }: MillionCatalog): Promise<number> {
  const begun = performance.now();
  const path = `/management/projects/${projectId}/categories?limit=1`;
  while ((await service.call('GET', path)).status === 503);
  return performance.now() - begun;
}

/** @returns ms */
async function drainPages({ service }: MillionCatalog, path: string): Promise<number> {
  const begun = performance.now();
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { nextCursor: string | null } = await service.succeed('GET', `${encodeURI(path)}${cursor}`);
    cursor = page.nextCursor && `&cursor=${page.nextCursor}`;
  }
  return performance.now() - begun;
}

/** Reads an answer of any size to its end. @returns ms */
async function drain({ service }: MillionCatalog, path: string): Promise<number> {
  const begun = performance.now();
  // A compressed export takes three times as long, only because of the compression.
  const headers = { authorization: `Bearer ${service.key}`, 'accept-encoding': 'identity' };
  const response = await fetch(`${service.address}${path}`, { headers });
  if (!response.ok || response.body === null)
    throw new Error(`${path}: ${response.status} ${await response.text()}`);
  for await (const _ of response.body);
  return performance.now() - begun;
}

/** @returns the waits of lookups in the small catalog, with and without all kinds of reads of the large one */
async function lookUpBeside(
  bench: Bench,
  million: MillionCatalog,
  readEverything: () => readonly Promise<number>[],
): Promise<{ alone: LoadResult; beside: LoadResult[] }> {
  const { service, smallProjectId, smallCount } = million;
  const identifiers = identifiersBelow(smallCount);
  const order: LoadOrder = {
    address: service.address,
    key: service.key,
    seconds: bench.sizes.seconds,
    connections: CONNECTIONS,
    rate: RATE,
    paths: listPaths({ path: lookupPath(smallProjectId), identifiers, perRequest: 1, requests: smallCount }),
  };
  const load = startChild('lookup-load.ts');
  try {
    const alone = await load.ask<LoadResult>(order);
    const beside: LoadResult[] = [];
    for (let at = 1; at <= bench.sizes.rounds; at += 1) {
      const draining = readEverything();
      beside.push(await load.ask<LoadResult>(order));
      await Promise.all(draining);
    }
    return { alone, beside };
  } finally {
    await load.stop();
  }
}

/** Reads pages, beginning with the first. @returns their times in ms, sorted */
async function readPages({ service }: MillionCatalog, path: string): Promise<Float64Array> {
  const waits: number[] = [];
  let cursor = '';
  for (let at = 0; at < PAGES; at += 1) {
    const begun = performance.now();
    const page = await service.succeed<{ nextCursor: string | null }>('GET', `${encodeURI(path)}${cursor}`);
    waits.push(performance.now() - begun);
    if (page.nextCursor === null) break;
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
  }
  return Float64Array.from(waits).sort();
}
