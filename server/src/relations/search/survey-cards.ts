import {
  COMPARISONS,
  type Comparable,
  compareValues,
  describeBriefly,
  readComparables,
  type UploadedProduct,
} from '../../catalog/catalog.ts';
import type { Side } from '../definitions/definitions.ts';
import { type BoundRule, type CompiledRule, compileRule } from '../definitions/definitions.ts';
import type { FoundGroups } from './related-search.ts';
import type { RelationView } from './related-view.ts';
import { explainPair, type PairExplanation } from './relation-explain.ts';

type CompiledMatch = CompiledRule['matches'][number];
type Brief = ReturnType<typeof describeBriefly>;

/** A product with how it stands to the source of its card. */
export type CardProduct = Brief & {
  readonly explain: PairExplanation;
  /** Other products of its group among the results. */
  readonly variants: number;
};

/** A source that was looked at, with what it leads to. Source: docs/interface.md §12.6 rule 7. */
export interface SurveyCard {
  readonly source: Brief;
  /** The first of each group, best first. */
  readonly results: readonly CardProduct[];
  /** Where there are none: the product of the other side that lacks least. */
  readonly nearest?: CardProduct;
}

/** A source that is shown. */
export interface ShownSource {
  readonly identifier: string;
  readonly found: FoundGroups;
}

interface CardOrder {
  readonly bound: BoundRule;
  readonly excludeSameGroup: boolean;
  readonly shown: readonly ShownSource[];
  /** Of the other side: what is nearest to a source without results is looked for among them. */
  readonly targets: readonly string[];
}

/** Groups of a card. */
const RESULTS = 3;

/** @returns the cards of the sources that the view has */
export function describeCards(view: RelationView, { shown, targets, ...rule }: CardOrder): SurveyCard[] {
  const others = targets.flatMap((identifier) => readUpload(view, identifier) ?? []);
  return shown.flatMap(({ identifier, found }) => {
    const source = readUpload(view, identifier);
    return source === undefined ? [] : [describeCard(view, { ...rule, source, found, others })];
  });
}

interface OpenCard extends Pick<CardOrder, 'bound' | 'excludeSameGroup'>, Pick<ShownSource, 'found'> {
  readonly source: UploadedProduct;
  readonly others: readonly UploadedProduct[];
}

function describeCard(view: RelationView, card: OpenCard): SurveyCard {
  const { bound, source, found, others } = card;
  const isForward = found.matchType === 'FIRST_WAY';
  const toCard = (other: UploadedProduct, variants: number): CardProduct => ({
    ...describeBriefly(other),
    variants,
    explain: explainPair(bound, isForward ? { source, target: other } : { source: other, target: source }),
  });
  const results = found.groups.slice(0, RESULTS).flatMap(([first = 0, ...variants]) => {
    const raw = view.findRaw(first);
    return raw === undefined ? [] : [toCard(JSON.parse(raw) as UploadedProduct, variants.length)];
  });
  const isNone = found.groups.length === 0;
  const nearest = isNone
    ? findNearest(
        bound,
        source,
        others.filter((other) => isApart(source, other, card)),
      )
    : undefined;
  return { source: describeBriefly(source), results, ...(nearest && { nearest: toCard(nearest, 0) }) };
}

const isApart = (
  a: UploadedProduct,
  b: UploadedProduct,
  { excludeSameGroup }: Pick<CardOrder, 'excludeSameGroup'>,
) => a.identifier !== b.identifier && !(excludeSameGroup && a.groupIdentifier === b.groupIdentifier);

function readUpload(view: RelationView, identifier: string): UploadedProduct | undefined {
  const upload = view.findUpload(identifier);
  return upload && (JSON.parse(upload.raw) as UploadedProduct);
}

/** @returns the target that lacks fewest matches, of several the one whose numbers miss by the smallest share */
function findNearest(
  bound: BoundRule,
  source: UploadedProduct,
  targets: readonly UploadedProduct[],
): UploadedProduct | undefined {
  const { matches } = compileRule(bound);
  let best: { target: UploadedProduct; missed: number } | undefined;
  for (const target of targets) {
    const missed = matches.reduce((sum, match) => sum + countMissed(match, { source, target }), 0);
    if (best === undefined || missed < best.missed) best = { target, missed };
  }
  return best?.target;
}

/** A match without a number on both sides is missed by as much as one can be. */
const WHOLLY = 1;

/** @returns 0 for a match that holds, else 1 and by how far its numbers are apart, from 0 to 1 */
function countMissed(
  { operator, ...match }: CompiledMatch,
  { source, target }: Readonly<Record<Side, UploadedProduct>>,
): number {
  const [left, right] = [readComparables(target, match.target), readComparables(source, match.source)];
  const pairs = left.flatMap((a) => right.map((b) => [a.comparable, b.comparable] as const));
  if (pairs.some(([a, b]) => COMPARISONS[operator](compareValues(a, b)))) return 0;
  return 1 + Math.min(WHOLLY, ...pairs.map(([a, b]) => distance(a, b)));
}

function distance(a: Comparable, b: Comparable): number {
  if (typeof a !== 'number' || typeof b !== 'number') return WHOLLY;
  const size = Math.max(Math.abs(a), Math.abs(b));
  return size === 0 ? 0 : Math.min(WHOLLY, Math.abs(a - b) / (2 * size));
}
