import { startChild } from '../support/child-process.ts';
import type { LoadResult } from '../support/lookup-load.ts';
import { listPaths, lookupPath } from '../support/lookup-paths.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { identifiersBelow, type MillionCatalog, openMillion } from '../support/million.ts';
import { waitUntilQuiet } from '../support/process-usage.ts';
import { round, spreadOf } from '../support/statistics.ts';

/** Requests for one product and for a hundred, and the number of distinct requests. */
const KINDS = [
  { perRequest: 1, requests: 50_000 },
  { perRequest: 100, requests: 4_000 },
];

/** The growth of lookup times with the size of the catalog. */
export const growth: Measurement = {
  name: 'growth',
  title: 'Lookup in 1,000,000 products and in 10,000, one request at a time',
  async measure(bench: Bench): Promise<Figure[]> {
    const million = await openMillion(bench);
    await waitUntilQuiet(million.service.pid);
    const load = startChild('lookup-load.ts');
    try {
      const figures: Figure[] = [];
      for (const { perRequest, requests } of KINDS) {
        const ask = async (isLarge: boolean) => {
          const paths = pathsOf(million, isLarge, { perRequest, requests });
          const { address, key } = million.service;
          const order = { address, key, paths, seconds: bench.sizes.seconds, connections: 1 };
          return (await load.ask<LoadResult>(order)).p50;
        };
        bench.say(`lookups of ${perRequest} in catalogs of two sizes`);
        const rounds: { large: number; small: number }[] = [];
        for (let at = 0; at < bench.sizes.rounds; at += 1) {
          rounds.push({ small: await ask(false), large: await ask(true) });
        }
        figures.push(toFigure(perRequest, rounds));
      }
      return figures;
    } finally {
      await load.stop();
    }
  },
};

function pathsOf(
  { projectId, smallProjectId, count, smallCount }: MillionCatalog,
  isLarge: boolean,
  kind: { perRequest: number; requests: number },
): string[] {
  const identifiers = identifiersBelow(isLarge ? count : smallCount);
  return listPaths({ ...kind, path: lookupPath(isLarge ? projectId : smallProjectId), identifiers });
}

function toFigure(perRequest: number, rounds: readonly { large: number; small: number }[]): Figure {
  const middle = (kind: 'large' | 'small') => round(spreadOf(rounds.map((one) => one[kind])).median);
  return {
    name: `p50 of ${perRequest} random product${perRequest === 1 ? '' : 's'}, of the small catalog's`,
    spread: spreadOf(rounds.map(({ large, small }) => large / small)),
    unit: '×',
    target: { kind: 'at most', value: 1.5 },
    absolute: `${middle('large')} and ${middle('small')} ms`,
  };
}
