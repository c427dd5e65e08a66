import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { type Child, startChild } from '../support/child-process.ts';
import type { LoadOrder, LoadResult } from '../support/lookup-load.ts';
import type { Bench, Figure } from '../support/measurement.ts';
import type { BenchService } from '../support/service.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { describeProduct, FIRST_VERSION, identifierOf } from '../support/synthetic-products.ts';
import {
  forgetAnswers,
  listBulkPaths,
  listRelations,
  loadRelated,
  type RelatedCatalog,
  sourceAt,
} from './relation-catalogs.ts';
import { FRUITLESS_RELATIONS, GREATEST_WIDTH_MM, THIRTY_RELATIONS } from './relation-rules.ts';

/** Small lookups per second, at fixed instants. */
const RATE = 200;
/** Enough connections that a lookup waits for the service and not for a connection. */
const CONNECTIONS = 64;
const LOOKUPS = 5_000;
const LARGE = { perRequest: 1_000, limit: 5 };
/** Large requests that are repeated. */
const REPEATED = 5;
/** Large requests start this long before the first lookup counts, and end after the last lookup. */
const LEAD_SECONDS = 0.5;
const LONGEST_MS = 50;

/** The effect of requests for 1,000 products and 30 relations on small lookups. */
export async function measureLarge(bench: Bench, service: BenchService, load: Child): Promise<Figure[]> {
  const count = bench.sizes.synthetic / 2;
  bench.say(`loading ${count} products with thirty relations`);
  const catalog = await loadRelated(service, { name: 'Thirty', count, definitions: THIRTY_RELATIONS });
  const second = startChild('lookup-load.ts');
  const rounds: LargeRound[] = [];
  try {
    for (let at = 1; at <= bench.sizes.rounds; at += 1) {
      bench.say(`lookups beside requests for 1,000 products and 30 relations: round ${at}`);
      rounds.push(await runLarge({ bench, catalog, load, second }));
    }
  } finally {
    await second.stop();
  }
  return toLargeFigures(rounds);
}

interface LargeParts {
  readonly bench: Bench;
  readonly catalog: RelatedCatalog;
  /** For small lookups. */
  readonly load: Child;
  /** For large requests. */
  readonly second: Child;
}

interface Beside {
  readonly small: LoadResult;
  readonly large: LoadResult;
}

interface LargeRound {
  readonly alone: LoadResult;
  /** The first time that each product is requested. */
  readonly first: Beside;
  readonly again: Beside;
}

async function runLarge({ bench, catalog, load, second }: LargeParts): Promise<LargeRound> {
  const { service, projectId, count } = catalog;
  const shared = { address: service.address, key: service.key };
  const lookups: LoadOrder = {
    ...shared,
    paths: Array.from(
      { length: LOOKUPS },
      (_, at) => `/product-service/product-by-sku?projectId=${projectId}&identifier=${sourceAt(at, count)}`,
    ),
    seconds: bench.sizes.seconds * 2,
    connections: CONNECTIONS,
    rate: RATE,
  };
  const besides = async (paths: readonly string[]): Promise<Beside> => {
    const seconds = lookups.seconds + 2 * LEAD_SECONDS;
    const large = second.ask<LoadResult>({ ...shared, paths, seconds, connections: 1 });
    await pause(LEAD_SECONDS * 1_000);
    return { small: await load.ask<LoadResult>(lookups), large: await large };
  };
  await forgetAnswers(catalog);
  const paths = listBulkPaths(catalog, { ...LARGE, requests: Math.ceil(count / LARGE.perRequest) });
  const repeated = paths.slice(0, REPEATED);
  const alone = await load.ask<LoadResult>(lookups);
  const first = await besides(paths);
  await second.ask({ ...shared, paths: repeated, seconds: 0, requests: REPEATED, connections: 1 });
  return { alone, first, again: await besides(repeated) };
}

/** The limit must never be exceeded, so the longest of all rounds counts. */
function toLargeFigures(rounds: readonly LargeRound[]): Figure[] {
  const longest = (of: (found: LargeRound) => LoadResult) =>
    Math.max(...rounds.map((one) => of(one).longest));
  const middle = (of: (found: LargeRound) => number) => round(spreadOf(rounds.map(of)).median);
  const alone = round(longest((one) => one.alone));
  const describe = (kind: 'first' | 'again', title: string): Figure => ({
    name: `lookup beside 1,000 products × 30 relations ${title}: longest`,
    spread: spreadOf([longest((one) => one[kind].small)]),
    unit: 'ms',
    target: { kind: 'at most', value: LONGEST_MS },
    absolute:
      `p50 ${middle((one) => one[kind].small.p50)} ms, p99 ${middle((one) => one[kind].small.p99)} ms; ` +
      `alone: longest ${alone} ms; a large answer takes ${middle((one) => one[kind].large.p50)} ms, ` +
      `${middle((one) => one[kind].large.requests)} a round`,
  });
  return [describe('first', 'for the first time'), describe('again', 'from memory')];
}

const FRUITLESS_SOURCES = 20;

/** The cost of a rule without matches, for products on its source side. */
export async function measureFruitless(bench: Bench, million: RelatedCatalog): Promise<Figure[]> {
  const sources = listWidest(million.count);
  const relations = await listRelations(million.service, million.projectId);
  const figures: Figure[] = [];
  for (const { name, title, mostMs } of [
    {
      name: FRUITLESS_RELATIONS.oneComparison.name,
      title: 'nothing matches, an equality and a comparison',
      mostMs: 50,
    },
    { name: FRUITLESS_RELATIONS.severalComparisons.name, title: 'nothing matches, comparisons', mostMs: 250 },
  ]) {
    const id = relations.find((one) => one.name === name)?.id;
    const include = encodeURIComponent(JSON.stringify([{ id }]));
    const paths = sources.map(
      (identifier) =>
        `/search/relations/result?projectId=${million.projectId}&includeRelations=${include}&identifier=${identifier}`,
    );
    const rounds: { first: number[]; again: number[] }[] = [];
    for (let at = 1; at <= bench.sizes.rounds; at += 1) {
      bench.say(`${title}: round ${at}`);
      await forgetAnswers(million);
      const first = await timeEach(million.service, paths);
      rounds.push({ first, again: await timeEach(million.service, paths) });
    }
    figures.push(...toFruitlessFigures({ title, mostMs }, rounds));
  }
  return figures;
}

/** The first products with the greatest width, which are on the source side of the fruitless relations. */
function listWidest(count: number): string[] {
  const widest: string[] = [];
  const mark = `{"key":"Width","value":"${GREATEST_WIDTH_MM} mm"}`;
  for (let index = 0; index < count && widest.length < FRUITLESS_SOURCES; index += 1) {
    if (describeProduct(index, FIRST_VERSION).includes(mark)) widest.push(identifierOf(index));
  }
  return widest;
}

/** Sends requests one after another. @returns ms */
async function timeEach(service: BenchService, paths: readonly string[]): Promise<number[]> {
  const times: number[] = [];
  for (const path of paths) {
    const start = performance.now();
    const { status, text } = await service.call('GET', path);
    times.push(performance.now() - start);
    assert.equal(status, 200, text);
    assert.match(text, /"searchResult":\[\]/);
  }
  return times;
}

function toFruitlessFigures(
  { title, mostMs }: { title: string; mostMs: number },
  rounds: readonly { first: readonly number[]; again: readonly number[] }[],
): Figure[] {
  const longest = (kind: 'first' | 'again') => spreadOf(rounds.map((one) => Math.max(...one[kind])));
  const middle = (kind: 'first' | 'again') => round(spreadOf(rounds.flatMap((one) => one[kind])).median);
  return [
    {
      name: `${title}: longest first answer`,
      spread: longest('first'),
      unit: 'ms',
      target: { kind: 'at most', value: mostMs },
      absolute: `p50 ${middle('first')} ms`,
    },
    {
      name: `${title}: longest second answer`,
      spread: longest('again'),
      unit: 'ms',
      absolute: `p50 ${middle('again')} ms`,
    },
  ];
}
