import { setTimeout as pause } from 'node:timers/promises';
import { streamBodies } from '../support/catalogs.ts';
import { type Child, startChild } from '../support/child-process.ts';
import type { LoadOrder, LoadResult } from '../support/lookup-load.ts';
import { lookupPath } from '../support/lookup-paths.ts';
import type { Bench, Figure, Measurement } from '../support/measurement.ts';
import { identifiersBelow, type MillionCatalog, openMillion } from '../support/million.ts';
import { waitUntilQuiet } from '../support/process-usage.ts';
import { type FullUpdateTime, runFullUpdate } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { type SyntheticVersion, startRandom } from '../support/synthetic-products.ts';

const RATE = 500;
const CONNECTIONS = 32;
const PATHS = 20_000;
/** The load begins this long before the commit and ends this long after it. */
const LEAD_MS = 500;
const LONGEST_SECONDS = 300;

/** The effect of a commit of 1,000,000 products on readers. */
export const commit: Measurement = {
  name: 'commit',
  title: `Commit of 1,000,000 staged products with ${RATE} lookups of two products a second beside`,
  async measure(bench: Bench): Promise<Figure[]> {
    const million = await openMillion(bench);
    const load = startChild('lookup-load.ts');
    try {
      const parts = { bench, million, load, waitUntilQuiet: () => waitUntilQuiet(million.service.pid) };
      return [
        ...toFigures(ALL_DIFFER, await measureCommit(parts, ALL_DIFFER)),
        ...toFigures(FEW_DIFFER, await measureCommit(parts, FEW_DIFFER)),
      ];
    } finally {
      await load.stop();
    }
  },
};

export interface CommitParts {
  readonly bench: Bench;
  readonly million: Pick<MillionCatalog, 'service' | 'projectId' | 'count'>;
  readonly load: Child;
  waitUntilQuiet(): Promise<unknown>;
}

export interface Change {
  readonly title: string;
  /** The version of all products before the update. */
  readonly before: number;
  readonly version: SyntheticVersion;
}

export const ALL_DIFFER: Change = { title: 'all differ', before: 1, version: { version: 2, every: 1 } };
/** The change after `ALL_DIFFER`. */
export const FEW_DIFFER: Change = { title: '1 % differ', before: 2, version: { version: 3, every: 100 } };

export interface CommitFound {
  readonly alone: LoadResult;
  readonly during: LoadResult;
  readonly time: FullUpdateTime;
}

/** A full update of a catalog, with lookups during its commit and before it for comparison. */
export async function measureCommit(
  { bench, million, load, waitUntilQuiet: wait }: CommitParts,
  change: Change,
): Promise<CommitFound> {
  const { service, projectId, count } = million;
  bench.say(`staging ${count} products of which ${change.title}`);
  const order = orderPairs(million, change.version.every);
  let beside: Promise<LoadResult> | undefined;
  let alone: LoadResult | undefined;
  const time = await runFullUpdate(service, projectId, {
    bodies: streamBodies(count, { ...change.version, others: change.before }),
    hooks: {
      async onStart() {
        await wait();
        await load.ask<LoadResult>({ ...order, seconds: 2 });
        alone = await load.ask<LoadResult>({ ...order, seconds: bench.sizes.seconds * 3 });
        beside = load.ask<LoadResult>({ ...order, seconds: LONGEST_SECONDS });
        await pause(LEAD_MS);
      },
    },
  });
  if (beside === undefined || alone === undefined) throw new Error('nothing was committed');
  await pause(LEAD_MS);
  process.kill(load.pid, 'SIGUSR2');
  const during = await beside;
  bench.say(`committed in ${round(time.commitMs / 1_000)} s, tidying up`);
  await wait();
  return { alone, during, time };
}

/** Pairs of products that change together. */
function orderPairs(
  { service, projectId, count }: CommitParts['million'],
  every: number,
): Omit<LoadOrder, 'seconds'> {
  const random = startRandom(every);
  const identifiers = identifiersBelow(count, every);
  const pick = () => identifiers[random(identifiers.length)];
  const paths = Array.from({ length: PATHS }, () => {
    const pair = encodeURIComponent(JSON.stringify([pick(), pick()]));
    return `${lookupPath(projectId)}&identifiers=${pair}`;
  });
  const shared = { address: service.address, key: service.key, connections: CONNECTIONS };
  return { ...shared, paths, rate: RATE, comparesVersions: true };
}

function toFigures({ title, version }: Change, { alone, during, time }: CommitFound): Figure[] {
  const one = (value: number) => spreadOf([value]);
  const isSeen = during.versions.includes(String(version.version));
  return [
    {
      name: `${title}: p99.9 of lookups beside the commit`,
      spread: one(during.p999),
      unit: 'ms',
      target: { kind: 'at most', value: 50 },
      absolute: `p50 ${round(during.p50)} ms, p99 ${round(during.p99)} ms; without: p99.9 ${round(alone.p999)} ms`,
    },
    {
      name: `${title}: longest lookup beside the commit, of the longest without`,
      spread: one(during.longest / alone.longest),
      unit: '×',
      target: { kind: 'at most', value: 4 },
      absolute: `${round(during.longest)} and ${round(alone.longest)} ms`,
    },
    {
      name: `${title}: answers that mix the old and the new catalog`,
      spread: one(during.mixtures),
      unit: 'mixtures',
      target: { kind: 'at most', value: 0 },
      absolute: `of ${during.requests}; versions seen: ${during.versions.join(', ')}${isSeen ? '' : ' (the new one not yet)'}`,
    },
    { name: `${title}: from the call to FINISHED`, spread: one(time.commitMs / 1_000), unit: 's' },
  ];
}
