import { type Budget, isTooLong } from '../../storage/threads/threads.ts';
import {
  type FoundGroups,
  type RelationView,
  type SearchedRelation,
  searchRelated,
} from '../matching/matching.ts';
import type { RelationSurvey } from '../relation-definitions/relation-definitions.ts';
import { CARDS, pickEvenly, readCards, type ShownSource } from './survey-cards.ts';
import type { SurveyedCatalog, SurveyTime } from './surveyed-catalog.ts';

/** The most sources of a survey. If there are more, they are sampled. */
const SAMPLE = 10_000;
/**
 * The most sources in a step. A step is short, because its sources do not count if the time ends within it.
 */
const CHUNK = 100;
const MOMENT_MS = 200;
const LIMIT = 10;
const EXAMPLES = 20;

/** Searches the results of as many sources as the time allows. */
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
      cards: await readCards(catalog, relation, { ...cards, shown: tally.listShown(), targets }),
    }),
  };
}

/** Searches until all sources are done or the time is up. */
async function searchSources(
  catalog: SurveyedCatalog,
  { relation, tally, limit }: { relation: SearchedRelation; tally: Tally; limit: Budget },
): Promise<void> {
  const indexes = scatter(tally.identifiers.length);
  for (let size = 1; tally.looked < indexes.length; ) {
    const chunk = indexes.slice(tally.looked, tally.looked + size);
    const begunAt = performance.now();
    const search = (view: RelationView) =>
      chunk.map((index) => {
        const identifier = tally.identifiers[index] as string;
        const search = { identifier, source: view.findSource(identifier), limit: LIMIT };
        return searchRelated(view, relation, search);
      });
    try {
      const searched = await catalog.read(search, [{ relation, limit: LIMIT }], limit);
      for (const [position, related] of searched.entries()) tally.add(chunk[position] as number, related);
    } catch (error) {
      if (isTooLong(error)) return;
      throw error;
    }
    size = performance.now() - begunAt < MOMENT_MS ? Math.min(CHUNK, size * 4) : Math.max(1, size >> 1);
  }
}

/** @returns the indexes in steps of the golden ratio, so that each prefix is an even sample */
function scatter(count: number): number[] {
  let step = Math.max(1, Math.round(count * ((Math.sqrt(5) - 1) / 2)));
  while (divisor(step, count) > 1) step += 1;
  return Array.from({ length: count }, (_, index) => (index * step) % count);
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));

/** Counts the results of the sources that were searched. */
class Tally {
  readonly identifiers: readonly string[];
  looked = 0;
  private readonly returned = new Map<number, number>();
  /** The indexes of sources without results. */
  private readonly without: number[] = [];
  /** The sources with the lowest indexes that have results. */
  private examples: { index: number; related: FoundGroups }[] = [];
  readonly resultCounts: number[] = Array.from({ length: LIMIT + 1 }, () => 0);

  constructor(identifiers: readonly string[]) {
    this.identifiers = identifiers;
  }

  add(index: number, related: FoundGroups): void {
    const { groups } = related;
    this.looked += 1;
    this.resultCounts[groups.length] = (this.resultCounts[groups.length] ?? 0) + 1;
    for (const id of groups.flat()) this.returned.set(id, (this.returned.get(id) ?? 0) + 1);
    if (groups.length === 0) this.without.push(index);
    else if (this.examples.length < EXAMPLES || index < (this.examples.at(-1)?.index ?? 0)) {
      const examples = [...this.examples, { index, related }].sort((a, b) => a.index - b.index);
      this.examples = examples.slice(0, EXAMPLES);
    }
  }

  /**
   * @returns some sources with results and the first ones without. The sources with results are spread over
   * the examples, because variants are adjacent.
   */
  listShown(): ShownSource[] {
    const nothing: FoundGroups = { matchType: 'FIRST_WAY', groups: [] };
    const without = this.without.toSorted((a, b) => a - b).map((index) => ({ index, related: nothing }));
    return [...pickEvenly(this.examples, CARDS.with), ...without.slice(0, CARDS.without)].map(
      ({ index, related }) => ({
        identifier: this.identifiers[index] as string,
        related,
      }),
    );
  }

  describe(view: RelationView) {
    const { identifiers, looked, without } = this;
    const withResults = looked - without.length;
    const first = without.sort((a, b) => a - b).slice(0, EXAMPLES);
    return {
      withResults,
      share: looked === 0 ? 0 : withResults / looked,
      withoutResults: {
        count: without.length,
        identifiers: first.map((index) => identifiers[index] as string),
      },
      mostReturned: [...this.returned]
        .sort(([a, countOfA], [b, countOfB]) => countOfB - countOfA || a - b)
        .slice(0, 10)
        .map(([id, count]) => ({ identifier: view.findIdentifier(id), count })),
      examples: this.examples.map(({ index, related }) => ({
        source: identifiers[index] as string,
        results: related.groups.map((group) => group.map((id) => view.findIdentifier(id))),
      })),
    };
  }
}
