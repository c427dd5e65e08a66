import { describeBriefly } from '../../catalog/browse/browse.ts';
import type { Comparable } from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import {
  explainPair,
  type FoundGroups,
  judgeElements,
  orient,
  type RelationView,
  type SearchedRelation,
} from '../matching/matching.ts';
import type { CardProduct, SurveyCard } from '../relation-definitions/relation-definitions.ts';
import {
  type BoundRule,
  type CompiledElement,
  compileRule,
  isApart,
  type Judgement,
} from '../rules/rules.ts';
import type { CardWords, SurveyedCatalog } from './surveyed-catalog.ts';

/** Cards of a survey: some of its sources with their results, for a person. */

/**
 * How many sources with results are shown, and how many without. A source without results is shown with its
 * nearest product.
 */
export const CARDS = { with: 4, without: 2 } as const;
/** How many products of the other side are compared to find the nearest; each takes 20 µs. */
const NEAREST_AMONG = 300;

/** @returns an evenly spread selection of at most `most` items */
export const pickEvenly = <Item>(list: readonly Item[], most: number): Item[] =>
  list.filter(
    (_, index) => Math.floor((index * most) / list.length) !== Math.floor(((index - 1) * most) / list.length),
  );

/** A source that is shown on a card. */
export interface ShownSource {
  readonly identifier: string;
  readonly related: FoundGroups;
}

export async function readCards(
  catalog: SurveyedCatalog,
  { build, bound, isListed, excludeSameGroup }: SearchedRelation,
  { shown, targets: count, locale }: CardWords & { shown: readonly ShownSource[]; targets: number },
): Promise<readonly SurveyCard[]> {
  // A list of links has no cards, because neither the reasons nor the nearest product are known.
  if (isListed) return [];
  const isAnyWithout = shown.some(({ related }) => related.groups.length === 0);
  const every = Math.max(1, Math.ceil(count / NEAREST_AMONG));
  const targets = isAnyWithout ? await catalog.sampleMembers(build, 'target', every) : [];
  return catalog.read((view) => {
    const others = targets.flatMap((identifier) => readUpload(view, identifier) ?? []);
    return shown.flatMap(({ identifier, related }) => {
      const source = readUpload(view, identifier);
      const far = source ? others.filter((other) => isApart(source, other, excludeSameGroup)) : [];
      return source ? [describeCard(view, bound, { source, related, others: far, locale })] : [];
    });
  });
}

/** How many groups a card has. */
export const RESULTS = 3;

interface OpenCard extends CardWords, Pick<ShownSource, 'related'> {
  readonly source: UploadedProduct;
  /** Products of the other side. The nearest of them is shown for a source without results. */
  readonly others: readonly UploadedProduct[];
}

function describeCard(
  view: RelationView,
  bound: BoundRule,
  { source, related, others, locale }: OpenCard,
): SurveyCard {
  const toCard = (other: UploadedProduct, variants: number): CardProduct => ({
    ...describeBriefly(other),
    variants,
    explain: explainPair(bound, orient(related.matchType, source, other), locale),
  });
  const results = related.groups.slice(0, RESULTS).flatMap(([first = 0, ...variants]) => {
    const raw = view.findRaw(first);
    return raw === undefined ? [] : [toCard(JSON.parse(raw) as UploadedProduct, variants.length)];
  });
  const nearest = related.groups.length === 0 ? findNearest(bound, source, others) : undefined;
  return { source: describeBriefly(source), results, ...(nearest && { nearest: toCard(nearest, 0) }) };
}

function readUpload(view: RelationView, identifier: string): UploadedProduct | undefined {
  const upload = view.findUpload(identifier);
  return upload && (JSON.parse(upload.raw) as UploadedProduct);
}

/**
 * @returns the target that fails the fewest matches. Among equal targets, the one with the smallest relative
 * distance of numbers.
 */
function findNearest(bound: BoundRule, source: UploadedProduct, targets: readonly UploadedProduct[]) {
  const { elements } = compileRule(bound);
  let best: { target: UploadedProduct; missed: number } | undefined;
  for (const target of targets) {
    const judged = judgeElements(bound, { source, target });
    const misses = elements.map((element, index) => countMissed(element, judged[index] as Judgement));
    const missed = misses.reduce((sum, share) => sum + share, 0);
    if (best === undefined || missed < best.missed) best = { target, missed };
  }
  return best?.target;
}

/** The largest distance, for a match without a number on both sides. */
const WHOLLY = 1;

/**
 * @returns 0 for an element that holds. Otherwise each failing match counts 1 plus the distance of its
 * numbers (0 to 1), and of alternatives only the nearest counts.
 */
function countMissed(element: CompiledElement, judged: Judgement): number {
  if (judged.truth === 1) return 0;
  const failing = (judged.inner ?? [judged]).filter(({ truth }) => truth !== 1);
  const missed = failing.map((judgement) => 1 + measureMiss(judgement));
  return 'any' in element ? Math.min(...missed) : missed.reduce((sum, share) => sum + share, 0);
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
