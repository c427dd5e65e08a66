import assert from 'node:assert/strict';
import type { Bench, Figure } from '../support/measurement.ts';
import { readCpuMs } from '../support/process-usage.ts';
import { percentile, round, spreadOf } from '../support/statistics.ts';
import { forgetAnswers, listRelations, type RelatedCatalog, sourceAt } from './relation-catalogs.ts';

const LIMIT = 100;
/** Per relation. */
const SOURCES = 20;
/** Products to try until enough have a full answer. */
const TRIED = 1_000;
const FIRST_MS = 25;

/** The cost of one product whose relation has far more groups than the hundred in the answer. */
export async function measureHundred(bench: Bench, catalog: RelatedCatalog): Promise<Figure[]> {
  bench.say('one product and a hundred groups: finding products');
  const paths = await listFullPaths(catalog);
  const rounds: { first: Float64Array; again: Float64Array }[] = [];
  for (let at = 1; at <= bench.sizes.rounds; at += 1) {
    bench.say(`one product and a hundred groups: round ${at}`);
    await forgetAnswers(catalog);
    const first = await timeEach(catalog, paths);
    rounds.push({ first, again: await timeEach(catalog, paths) });
  }
  const spread = (kind: 'first' | 'again', percent: number) =>
    spreadOf(rounds.map((one) => percentile(one[kind], percent)));
  const middle = (kind: 'first' | 'again', percent: number) => round(spread(kind, percent).median);
  return [
    {
      name: `one product × one relation, ${LIMIT} of more groups, asked for the first time: p50`,
      spread: spread('first', 50),
      unit: 'ms',
      target: { kind: 'at most', value: FIRST_MS },
      absolute: `p99 ${middle('first', 99)} ms; again p50 ${middle('again', 50)} ms, p99 ${middle('again', 99)} ms`,
    },
  ];
}

/** @returns requests with full answers, for all relations that have such answers */
async function listFullPaths(catalog: RelatedCatalog): Promise<string[]> {
  const { service, projectId, count } = catalog;
  const paths: string[] = [];
  for (const { id } of await listRelations(service, projectId)) {
    const include = encodeURIComponent(JSON.stringify([{ id, limit: LIMIT }]));
    const full: string[] = [];
    for (let at = 0; at < TRIED && full.length < SOURCES; at += 1) {
      const path = `/search/relations/result?projectId=${projectId}&includeRelations=${include}&identifier=${sourceAt(at, count)}`;
      const { tags } = await service.succeed<SingleAnswer>('GET', path);
      if (tags[0]?.relations[0]?.searchResult.length === LIMIT) full.push(path);
    }
    paths.push(...full);
  }
  return paths;
}

interface SingleAnswer {
  readonly tags: readonly { readonly relations: readonly { readonly searchResult: readonly unknown[] }[] }[];
}

/** Sends requests one after another. @returns ms, ascending */
async function timeEach({ service }: RelatedCatalog, paths: readonly string[]): Promise<Float64Array> {
  const times = new Float64Array(paths.length);
  for (const [at, path] of paths.entries()) {
    const start = performance.now();
    const { status, text } = await service.call('GET', path);
    times[at] = performance.now() - start;
    assert.equal(status, 200, text);
  }
  return times.sort();
}

/** The processor time of health, for each relation of a new catalog version and when repeated. */
export async function measureHealth(bench: Bench, catalog: RelatedCatalog): Promise<Figure[]> {
  const { service, projectId } = catalog;
  const rounds: { first: number[]; again: number[] }[] = [];
  const relations = await listRelations(service, projectId);
  const readEach = async () => {
    const taken: number[] = [];
    for (const { id } of relations) {
      const before = readCpuMs(service.pid);
      await service.succeed('GET', `/management/projects/${projectId}/relations/${id}/health`);
      taken.push(readCpuMs(service.pid) - before);
    }
    return taken;
  };
  for (let at = 1; at <= bench.sizes.rounds; at += 1) {
    bench.say(`health of relations: round ${at}`);
    await forgetAnswers(catalog);
    const first = await readEach();
    rounds.push({ first, again: await readEach() });
  }
  const middle = (kind: 'first' | 'again') => round(spreadOf(rounds.flatMap((one) => one[kind])).median);
  return [
    {
      name: `health of ${relations.length} relations: processor time of the longest`,
      spread: spreadOf(rounds.map(({ first }) => Math.max(...first))),
      unit: 'ms',
      absolute: `of the middle one ${middle('first')} ms; again ${middle('again')} ms`,
    },
  ];
}
