import { describeBriefly } from '../../catalog/browse/browse.ts';
import type { Comparable } from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import { type Budget, isTooLong } from '../../storage/threads/threads.ts';
import type { CardProduct, RelationSurvey, SurveyCard } from '../definitions/definitions.ts';
import {
  type BoundRule,
  type CompiledElement,
  compileRule,
  isApart,
  type Judgement,
  type Side,
} from '../definitions/definitions.ts';
import { type FoundGroups, type SearchedRelation, searchRelated } from './related-search.ts';
import type { RelationView, StoredUpload } from './related-view.ts';
import { explainPair, judgeElements, orient } from './relation-explain.ts';

/** One state of a catalog, for work that takes long. */
export interface SurveyedCatalog {
  /**
   * Does the work on a view, repeatedly if the view lacked something. `searches`: what it will do first.
   * @throws search_too_long if it exceeds `limit`; the next work may continue
   */
  read<Result>(
    work: (view: RelationView) => Result,
    searches?: readonly { readonly relation: SearchedRelation; readonly limit: number }[],
    limit?: Budget,
  ): Promise<Result>;
  countMembers(build: number, side: Side): Promise<number>;
  /** @returns the products of which only the first combinations of values count, by id */
  listCut(build: number): Promise<readonly string[]>;
  /** @returns identifiers of a side, one in `every`, by id */
  sampleMembers(build: number, side: Side, every: number): Promise<readonly string[]>;
}

/** One state of a catalog, on which an unstored rule is tried. */
export interface TriedCatalog {
  readonly version: number;
  /** @returns products by id, after `after`; fewer than `limit` where their uploads are large, and none at the end */
  listUploads(after: number, limit: number): Promise<readonly PresentUpload[]>;
  /** @param identifiers `UPLOADS_AT_ONCE` of them where any product may be meant @returns the existing ones, in no order */
  findUploads(identifiers: readonly string[]): Promise<readonly PresentUpload[]>;
}

/** A present product's document. */
export interface PresentUpload extends StoredUpload {
  readonly document: number;
  /** When its data or facts last changed. */
  readonly updatedAt: number;
}

/** If there are more sources, they are sampled. */
const SAMPLE = 10_000;
/** The most sources per step: as many as take a moment, as those in progress when the time is up do not count. */
const CHUNK = 100;
const MOMENT_MS = 200;
/** The whole catalog is read in time, or there is no preview: its first products are not a sample of it. */
const READING_TIMES = 6;
const LIMIT = 10;
const EXAMPLES = 20;

/** How many sources are shown with their results, and without any, with the nearest product. */
export const CARDS = { with: 4, without: 2 } as const;
/** How many products of the other side the nearest is chosen from: 20 µs each. */
const NEAREST_AMONG = 300;

/** Time limits of a survey. */
export interface SurveyTime {
  /** The caller's limit. */
  readonly limit: Budget;
  /** The time for searching. */
  readonly searchMs: number;
  /** Set if products are described too. */
  readonly cards?: CardWords | undefined;
}

/** The locale of the sentences on cards. */
export interface CardWords {
  readonly locale: string;
}

export const readingLimit = ({ limit, searchMs }: SurveyTime): Budget =>
  limit.within(searchMs * READING_TIMES);

/** The build number of an unstored rule. */
export const TRIED_BUILD = 0;

/** Looks at as many sources as the time allows. */
export async function surveyRelation(
  catalog: SurveyedCatalog,
  relation: SearchedRelation,
  { limit, searchMs, cards }: SurveyTime,
): Promise<RelationSurvey> {
  const { build } = relation;
  const sources = await catalog.countMembers(build, 'source');
  const every = Math.max(1, Math.ceil(sources / SAMPLE));
  const identifiers = await catalog.sampleMembers(build, 'source', every);
  const targets = await catalog.countMembers(build, 'target');
  const tally = new Tally(identifiers);
  await searchSources(catalog, { relation, tally, limit: limit.within(searchMs) });
  const isEarly = tally.looked < identifiers.length;
  const cut = await catalog.listCut(build);
  return {
    source: { products: sources },
    target: { products: targets },
    sampled: tally.looked < sources,
    sampledSources: tally.looked,
    ...(isEarly && { endedEarly: true }),
    ...(cut.length > 0 && { cut: { count: cut.length, identifiers: cut.slice(0, EXAMPLES) } }),
    ...(await catalog.read((view) => tally.describe(view))),
    ...(cards && {
      resultCounts: tally.resultCounts,
      cards: await readCards(catalog, relation, { ...cards, tally, targets }),
    }),
  };
}

async function readCards(
  catalog: SurveyedCatalog,
  { build, bound, isListed, excludeSameGroup }: SearchedRelation,
  { tally, targets: count, locale }: CardWords & { tally: Tally; targets: number },
): Promise<readonly SurveyCard[]> {
  // For a list, it is unknown why a product is on it, and what would be nearest.
  if (isListed) return [];
  const shown = tally.listShown();
  const isAnyWithout = shown.some(({ found }) => found.groups.length === 0);
  const every = Math.max(1, Math.ceil(count / NEAREST_AMONG));
  const targets = isAnyWithout ? await catalog.sampleMembers(build, 'target', every) : [];
  return catalog.read((view) => {
    const others = targets.flatMap((identifier) => readUpload(view, identifier) ?? []);
    return shown.flatMap(({ identifier, found }) => {
      const source = readUpload(view, identifier);
      const far = source ? others.filter((other) => isApart(source, other, excludeSameGroup)) : [];
      return source ? [describeCard(view, bound, { source, found, others: far, locale })] : [];
    });
  });
}

/** Searches until all sources are done or the time is up. */
async function searchSources(
  catalog: SurveyedCatalog,
  { relation, tally, limit }: { relation: SearchedRelation; tally: Tally; limit: Budget },
): Promise<void> {
  const places = scatter(tally.identifiers.length);
  for (let size = 1; tally.looked < places.length; ) {
    const chunk = places.slice(tally.looked, tally.looked + size);
    const begunAt = performance.now();
    const search = (view: RelationView) =>
      chunk.map((place) => {
        const identifier = tally.identifiers[place] as string;
        const search = { identifier, source: view.findSource(identifier), limit: LIMIT };
        return searchRelated(view, relation, search);
      });
    try {
      const found = await catalog.read(search, [{ relation, limit: LIMIT }], limit);
      for (const [at, one] of found.entries()) tally.add(chunk[at] as number, one);
    } catch (error) {
      if (isTooLong(error)) return;
      throw error;
    }
    size = performance.now() - begunAt < MOMENT_MS ? Math.min(CHUNK, size * 4) : Math.max(1, size >> 1);
  }
}

/** @returns the indexes in an order in which every prefix is an even sample: steps of the golden ratio */
function scatter(count: number): number[] {
  let step = Math.max(1, Math.round(count * ((Math.sqrt(5) - 1) / 2)));
  while (divisor(step, count) > 1) step += 1;
  return Array.from({ length: count }, (_, at) => (at * step) % count);
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));

/** @returns an even selection of at most the given number */
export const pickEvenly = <Item>(list: readonly Item[], most: number): Item[] =>
  list.filter(
    (_, at) => Math.floor((at * most) / list.length) !== Math.floor(((at - 1) * most) / list.length),
  );

/** The results for the sources looked at. */
class Tally {
  readonly identifiers: readonly string[];
  looked = 0;
  private readonly returned = new Map<number, number>();
  /** Indexes of sources without results. */
  private readonly without: number[] = [];
  /** The first ones by index. */
  private examples: { place: number; found: FoundGroups }[] = [];
  readonly resultCounts: number[] = Array.from({ length: LIMIT + 1 }, () => 0);

  constructor(identifiers: readonly string[]) {
    this.identifiers = identifiers;
  }

  add(place: number, found: FoundGroups): void {
    const { groups } = found;
    this.looked += 1;
    this.resultCounts[groups.length] = (this.resultCounts[groups.length] ?? 0) + 1;
    for (const id of groups.flat()) this.returned.set(id, (this.returned.get(id) ?? 0) + 1);
    if (groups.length === 0) this.without.push(place);
    else if (this.examples.length < EXAMPLES || place < (this.examples.at(-1)?.place ?? 0)) {
      const examples = [...this.examples, { place, found }].sort((a, b) => a.place - b.place);
      this.examples = examples.slice(0, EXAMPLES);
    }
  }

  /** @returns some with results, spread over the examples because variants are adjacent, and the first ones without */
  listShown(): ShownSource[] {
    const nothing: FoundGroups = { matchType: 'FIRST_WAY', groups: [] };
    const without = this.without.toSorted((a, b) => a - b).map((place) => ({ place, found: nothing }));
    return [...pickEvenly(this.examples, CARDS.with), ...without.slice(0, CARDS.without)].map(
      ({ place, found }) => ({ identifier: this.identifiers[place] as string, found }),
    );
  }

  describe(view: RelationView) {
    const { identifiers, looked, without } = this;
    const withResults = looked - without.length;
    const first = without.sort((a, b) => a - b).slice(0, EXAMPLES);
    return {
      withResults,
      share: looked === 0 ? 0 : withResults / looked,
      withoutResults: { count: without.length, identifiers: first.map((at) => identifiers[at] as string) },
      mostReturned: [...this.returned]
        .sort(([a, countOfA], [b, countOfB]) => countOfB - countOfA || a - b)
        .slice(0, 10)
        .map(([id, count]) => ({ identifier: view.findIdentifier(id), count })),
      examples: this.examples.map(({ place, found }) => ({
        source: identifiers[place] as string,
        results: found.groups.map((group) => group.map((id) => view.findIdentifier(id))),
      })),
    };
  }
}

/** A source that is shown. */
interface ShownSource {
  readonly identifier: string;
  readonly found: FoundGroups;
}

/** Groups per card. */
export const RESULTS = 3;

interface OpenCard extends CardWords, Pick<ShownSource, 'found'> {
  readonly source: UploadedProduct;
  /** Products of the other side, from which the nearest to a source without results is chosen. */
  readonly others: readonly UploadedProduct[];
}

function describeCard(
  view: RelationView,
  bound: BoundRule,
  { source, found, others, locale }: OpenCard,
): SurveyCard {
  const toCard = (other: UploadedProduct, variants: number): CardProduct => ({
    ...describeBriefly(other),
    variants,
    explain: explainPair(bound, orient(found.matchType, source, other), locale),
  });
  const results = found.groups.slice(0, RESULTS).flatMap(([first = 0, ...variants]) => {
    const raw = view.findRaw(first);
    return raw === undefined ? [] : [toCard(JSON.parse(raw) as UploadedProduct, variants.length)];
  });
  const nearest = found.groups.length === 0 ? findNearest(bound, source, others) : undefined;
  return { source: describeBriefly(source), results, ...(nearest && { nearest: toCard(nearest, 0) }) };
}

function readUpload(view: RelationView, identifier: string): UploadedProduct | undefined {
  const upload = view.findUpload(identifier);
  return upload && (JSON.parse(upload.raw) as UploadedProduct);
}

/** @returns the target that fails the fewest matches; among equals, the one whose numbers are off by the smallest share */
function findNearest(bound: BoundRule, source: UploadedProduct, targets: readonly UploadedProduct[]) {
  const { elements } = compileRule(bound);
  let best: { target: UploadedProduct; missed: number } | undefined;
  for (const target of targets) {
    const judged = judgeElements(bound, { source, target });
    const misses = elements.map((one, at) => countMissed(one, judged[at] as Judgement));
    const missed = misses.reduce((sum, one) => sum + one, 0);
    if (best === undefined || missed < best.missed) best = { target, missed };
  }
  return best?.target;
}

/** The distance of a match without a number on both sides, the largest possible. */
const WHOLLY = 1;

/**
 * @returns 0 for an element that holds, else 1 for each of its matches that fails plus the distance of its
 * numbers, from 0 to 1; for alternatives, the nearest
 */
function countMissed(element: CompiledElement, judged: Judgement): number {
  if (judged.truth === 1) return 0;
  const failing = (judged.inner ?? [judged]).filter(({ truth }) => truth !== 1);
  const missed = failing.map((one) => 1 + measureMiss(one));
  return 'any' in element ? Math.min(...missed) : missed.reduce((sum, one) => sum + one, 0);
}

function measureMiss({ values: { source, target } }: Judgement): number {
  const distances = target.flatMap((a) => source.map((b) => distance(a.comparable, b.comparable)));
  return Math.min(WHOLLY, ...distances);
}

function distance(a: Comparable, b: Comparable): number {
  if (typeof a !== 'number' || typeof b !== 'number') return WHOLLY;
  const size = Math.max(Math.abs(a), Math.abs(b));
  return size === 0 ? 0 : Math.min(WHOLLY, Math.abs(a - b) / (2 * size));
}
