import { updateMany } from '../ingest/partial.ts';
import { openSyntheticCatalog, PRODUCTS_PER_BATCH } from '../support/catalogs.ts';
import type { Bench, Figure } from '../support/measurement.ts';
import { waitUntilQuiet } from '../support/process-usage.ts';
import type { BenchService } from '../support/service.ts';
import { runFullUpdate } from '../support/service-client.ts';
import { round, spreadOf } from '../support/statistics.ts';
import { createRelatedProject, type RelatedCatalog } from './relation-catalogs.ts';
import { TEN_RELATIONS } from './relation-rules.ts';

const UPDATES_PER_ROUND = 3;

/** The cost of maintaining ten relations. @returns also the catalog with relations of the last round */
export async function measureCosts(
  bench: Bench,
  service: BenchService,
): Promise<{ figures: Figure[]; catalog: RelatedCatalog }> {
  const count = bench.sizes.synthetic / 2;
  const { bodies } = await openSyntheticCatalog(bench);
  const parts = { service, count, bodies: bodies.slice(0, Math.ceil(count / PRODUCTS_PER_BATCH)) };
  // The first executions are slow with and without relations, so they do not count.
  for (const kind of KINDS) await load({ ...parts, bodies: parts.bodies.slice(0, 1) }, kind, 'warm-up');
  const rounds: Round[] = [];
  for (let at = 1; at <= bench.sizes.rounds; at += 1) {
    bench.say(`updates with and without relations: round ${at}`);
    rounds.push(await runRound(parts, at));
  }
  const catalog = rounds.at(-1)?.related.catalog;
  if (catalog === undefined) throw new Error('no round, no catalog');
  return { figures: toFigures(count, rounds), catalog };
}

interface Parts {
  readonly service: BenchService;
  readonly count: number;
  readonly bodies: readonly Buffer[];
}

const KINDS = ['plain', 'related'] as const;
type Kind = (typeof KINDS)[number];

/** Times in ms. */
interface Loaded {
  readonly catalog: RelatedCatalog;
  readonly ingest: number;
  /** The commit's part of it. */
  readonly commit: number;
  readonly updates: number[];
}

type Round = Readonly<Record<Kind, Loaded>>;

/** The order alternates from round to round. */
async function runRound(parts: Parts, at: number): Promise<Round> {
  const order = at % 2 === 0 ? KINDS.toReversed() : KINDS;
  const loaded = new Map<Kind, Loaded>();
  for (const kind of order) loaded.set(kind, await load(parts, kind, `${at}`));
  for (let attempt = 1; attempt <= UPDATES_PER_ROUND; attempt += 1) {
    for (const { catalog, updates } of loaded.values()) {
      updates.push((await updateMany(catalog, attempt)) * 1_000);
      await waitUntilQuiet(parts.service.pid);
    }
  }
  return Object.fromEntries(loaded) as Record<Kind, Loaded>;
}

async function load({ service, count, bodies }: Parts, kind: Kind, name: string): Promise<Loaded> {
  const projectId = await createRelatedProject(service, {
    name: `${kind} ${name}`,
    definitions: kind === 'related' ? TEN_RELATIONS : [],
  });
  await waitUntilQuiet(service.pid);
  const { totalMs, commitMs } = await runFullUpdate(service, projectId, { bodies });
  await waitUntilQuiet(service.pid);
  return { catalog: { service, projectId, count }, ingest: totalMs, commit: commitMs, updates: [] };
}

function toFigures(count: number, rounds: readonly Round[]): Figure[] {
  const updateOf = ({ updates }: Loaded) => spreadOf(updates).median;
  const compare = (of: (loaded: Loaded) => number) =>
    spreadOf(rounds.map(({ related, plain }) => of(related) / of(plain)));
  const middle = (kind: Kind, of: (loaded: Loaded) => number) =>
    spreadOf(rounds.map((one) => of(one[kind]))).median;
  const rate = (kind: Kind) => round((count / middle(kind, ({ ingest }) => ingest)) * 1_000);
  const commit = (kind: Kind) => round(middle(kind, (one) => one.commit));
  const target = { kind: 'at most', value: 1.25 } as const;
  return [
    {
      name: `ingest of ${count / 1_000}k with ten relations, of that without`,
      spread: compare(({ ingest }) => ingest),
      unit: '×',
      target,
      absolute: `${rate('related')} and ${rate('plain')} products/s, commit ${commit('related')} and ${commit('plain')} ms`,
    },
    {
      name: 'partial update of 10,000 products with ten relations, of that without',
      spread: compare(updateOf),
      unit: '×',
      target,
      absolute: `${round(middle('related', updateOf))} and ${round(middle('plain', updateOf))} ms`,
    },
  ];
}
