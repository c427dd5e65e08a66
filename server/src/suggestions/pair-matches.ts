import { type Attribute, areComparable, compareValues, toCompared } from '../catalog/catalog.ts';
import type { Category, ComparedProduct, ComparedValue } from './comparable-sample.ts';

/** How many products of two categories a match would relate. */

/** Read from the target, as in a relation. */
export interface SuggestedMatch {
  readonly target: Attribute;
  readonly operator: 'equals' | 'lessOrEqual' | 'greaterOrEqual';
  readonly source: Attribute;
}

export interface MatchedSide {
  /** Products of the side that have a partner on the other one. */
  readonly withPartner: number;
  /** Of all partners that they could have, from 0 to 1: selective matches have few. */
  readonly spread: number;
  /** Partners of those with any, on average. */
  readonly partners: number;
  readonly alone: readonly ComparedProduct[];
}

/** Combinations of several values of a product that are looked at. */
const COMBINATIONS = 16;

type Side = 'source' | 'target';

/** @returns what products of one side find on the other one; a limit is compared beside the equal values */
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
  const found = counts.filter((count) => count > 0);
  const partners = found.reduce((total, count) => total + count, 0) / Math.max(found.length, 1);
  return {
    ...{ withPartner: found.length, partners, spread: partners / to.products.length },
    alone: from.products.filter((_, at) => counts[at] === 0),
  };
}

/** What is compared of the products of one side. */
interface Compared {
  readonly equal: readonly SuggestedMatch[];
  readonly limit: SuggestedMatch | undefined;
  readonly side: Side;
}

/** By equal values: the numbers that are limited, in order, or as many zeros as there are products. */
type SideIndex = ReadonlyMap<string, Float64Array>;

function indexSide(products: readonly ComparedProduct[], compared: Compared): SideIndex {
  const numbers = new Map<string, number[]>();
  for (const product of products) {
    const number = numberOf(product, compared);
    if (number === undefined) continue;
    for (const key of combine(product, compared)) {
      const known = numbers.get(key);
      if (known === undefined) numbers.set(key, [number]);
      else known.push(number);
    }
  }
  return new Map([...numbers].map(([key, all]) => [key, Float64Array.from(all).sort()]));
}

/** @param others `isUpper`: the product has the upper limit of the others */
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
      ? countUntil(others, (one) => one > number)
      : others.length - countUntil(others, (one) => one >= number);
  }
  return count;
}

const NO_NUMBERS = new Float64Array();

/** @returns 0 where nothing is limited, so that all are within */
function numberOf({ values }: ComparedProduct, { limit, side }: Compared): number | undefined {
  if (limit === undefined) return 0;
  const comparable = values.get(limit[side])?.[0]?.comparable;
  return typeof comparable === 'number' ? comparable : undefined;
}

/** @returns how many of the numbers, which are in order, come before the first that is past the place */
function countUntil(numbers: Float64Array, isPast: (number: number) => boolean): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isPast(numbers[middle] ?? 0)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** @returns each combination of the values that must be equal; none when one is missing */
function combine(product: ComparedProduct, { equal, side }: Compared): Set<string> {
  let keys = [''];
  for (const match of equal) {
    const values = product.values.get(match[side]) ?? [];
    keys = keys
      .flatMap((key) => values.map(({ comparable }) => `${key}${JSON.stringify(comparable)} `))
      .slice(0, COMBINATIONS);
  }
  return new Set(keys);
}

/** @returns a source and one of its targets, of up to so many */
export function listPairs(
  [source, target]: readonly [Category, Category],
  matches: readonly SuggestedMatch[],
  most: number,
): { readonly source: string; readonly target: string }[] {
  const step = Math.max(1, Math.floor(source.products.length / (most * 4)));
  const pairs = source.products
    .filter((_, at) => at % step === 0)
    .flatMap((one) => {
      const partner = target.products.find((other) => one !== other && areMatched(one, other, matches));
      return partner === undefined ? [] : [{ source: one.identifier, target: partner.identifier }];
    });
  return pairs.slice(0, most);
}

function areMatched(
  source: ComparedProduct,
  target: ComparedProduct,
  matches: readonly SuggestedMatch[],
): boolean {
  return matches.every((match) => {
    const [ofTarget, ofSource] = [target.values.get(match.target), source.values.get(match.source)];
    return (ofTarget ?? []).some((a) => (ofSource ?? []).some((b) => holds(a, match.operator, b)));
  });
}

function holds(a: ComparedValue, operator: SuggestedMatch['operator'], b: ComparedValue): boolean {
  const order = compareValues(a.comparable, b.comparable);
  if (operator === 'equals') return order === 0;
  return operator === 'lessOrEqual' ? order <= 0 : order >= 0;
}

export const canCompare = (a: Attribute, b: Attribute): boolean =>
  areComparable(toCompared(a, []), toCompared(b, []));
