import {
  areComparable,
  COMPARISONS,
  type Comparable,
  compareValues,
  toCompared,
} from '../catalog/filters/filters.ts';
import type { Attribute } from '../catalog/ontology/ontology.ts';
import { findEdge } from '../kernel/find-edge.ts';
import type { Category, ComparedProduct, ComparedValue } from './catalog-sample.ts';

/** Counts the products of two categories that a match would relate. */

export type Pair = readonly [source: Category, target: Category];

/** A match, read from the target like in a relation. */
export interface SuggestedMatch {
  readonly target: Attribute;
  readonly operator: 'equals' | 'lessOrEqual' | 'greaterOrEqual';
  readonly source: Attribute;
}

export interface MatchedSide {
  /** The number of products on this side that have a partner on the other side. */
  readonly withPartner: number;
  /** The share of possible partners that a product has, from 0 to 1. It is small for selective matches. */
  readonly spread: number;
  /** The average number of partners, of products that have any. */
  readonly partners: number;
  readonly alone: readonly ComparedProduct[];
}

/** The most combinations of a product's values that are tried. */
const COMBINATIONS = 16;

type Side = 'source' | 'target';

/**
 * @returns the partners of one side's products on the other side. A limit is compared in addition to the
 * equal values.
 */
export function matchSide(
  [from, to]: readonly [Category, Category],
  matches: readonly SuggestedMatch[],
  side: Side,
): MatchedSide {
  const equal = matches.filter(({ operator }) => operator === 'equals');
  const limit = matches.find(({ operator }) => operator !== 'equals');
  const index = indexSide(to.products, { equal, limit, side: side === 'source' ? 'target' : 'source' });
  const isUpper = (limit?.operator === 'lessOrEqual') === (side === 'source');
  const counts = from.products.map((product) =>
    Math.min(countPartners(product, { equal, limit, side }, { index, isUpper }), to.products.length),
  );
  const matched = counts.filter((count) => count > 0);
  const partners = matched.reduce((total, count) => total + count, 0) / Math.max(matched.length, 1);
  return {
    withPartner: matched.length,
    partners,
    spread: partners / to.products.length,
    alone: from.products.filter((_, index) => counts[index] === 0),
  };
}

/** The compared values of one side. */
interface Compared {
  readonly equal: readonly SuggestedMatch[];
  readonly limit: SuggestedMatch | undefined;
  readonly side: Side;
}

/**
 * By equal values: the limited numbers in ascending order, or a zero for each product if there is no limit.
 */
type SideIndex = ReadonlyMap<Comparable, Float64Array>;

function indexSide(products: readonly ComparedProduct[], compared: Compared): SideIndex {
  const numbers = new Map<Comparable, number[]>();
  for (const product of products) {
    const number = numberOf(product, compared);
    if (number === undefined) continue;
    for (const key of combine(product, compared)) numbers.getOrInsert(key, []).push(number);
  }
  return new Map([...numbers].map(([key, all]) => [key, Float64Array.from(all).sort()]));
}

/**
 * @param others the products to count in. `isUpper` is true if the product has the upper limit for the
 * others
 */
function countPartners(
  product: ComparedProduct,
  compared: Compared,
  { index, isUpper }: { readonly index: SideIndex; readonly isUpper: boolean },
): number {
  const number = numberOf(product, compared);
  if (number === undefined) return 0;
  let count = 0;
  for (const key of combine(product, compared)) {
    const others = index.get(key) ?? NO_NUMBERS;
    count += isUpper
      ? findEdge(others, (otherNumber) => otherNumber <= number)
      : others.length - findEdge(others, (otherNumber) => otherNumber < number);
  }
  return count;
}

const NO_NUMBERS = new Float64Array();

/** @returns 0 if there is no limit, so that all numbers are within it */
function numberOf({ values }: ComparedProduct, { limit, side }: Compared): number | undefined {
  if (limit === undefined) return 0;
  const comparable = values.get(limit[side])?.[0]?.comparable;
  return typeof comparable === 'number' ? comparable : undefined;
}

/**
 * The keys of a match are all texts or all numbers, because only attributes of one kind are matched. Keys
 * therefore never collide.
 * @returns each combination of the values that must be equal, usually one value; none if a value is missing
 */
function combine({ values }: ComparedProduct, { equal, side }: Compared): Iterable<Comparable> {
  let keys: Comparable[] | undefined;
  for (const match of equal) {
    const valuesOfMatch = values.get(match[side]) ?? [];
    keys = keys
      ? keys.flatMap((key) => valuesOfMatch.map(({ comparable }) => `${key} ${JSON.stringify(comparable)}`))
      : valuesOfMatch.map(({ comparable }) => comparable);
    if (keys.length > COMBINATIONS) keys = keys.slice(0, COMBINATIONS);
  }
  return keys && keys.length > 1 ? new Set(keys) : (keys ?? UNCOMPARED);
}

const UNCOMPARED = [''] as const;

/** @returns pairs of a source and one of its targets, at most `most` */
export function listPairs([source, target]: Pair, matches: readonly SuggestedMatch[], most: number) {
  const step = Math.max(1, Math.floor(source.products.length / (most * 4)));
  const pairs = source.products
    .filter((_, index) => index % step === 0)
    .flatMap((sourceProduct) => {
      const partner = target.products.find(
        (other) => sourceProduct !== other && areMatched(sourceProduct, other, matches),
      );
      return partner === undefined ? [] : [{ source: sourceProduct.identifier, target: partner.identifier }];
    });
  return pairs.slice(0, most);
}

function areMatched(source: ComparedProduct, target: ComparedProduct, matches: readonly SuggestedMatch[]) {
  return matches.every(({ target: ofTarget, operator, source: ofSource }) => {
    const holds = (a: ComparedValue, b: ComparedValue) =>
      COMPARISONS[operator](compareValues(a.comparable, b.comparable));
    const others = source.values.get(ofSource) ?? [];
    return (target.values.get(ofTarget) ?? []).some((a) => others.some((b) => holds(a, b)));
  });
}

export const canCompare = (a: Attribute, b: Attribute): boolean =>
  areComparable(toCompared(a, []), toCompared(b, []));
