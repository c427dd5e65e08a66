import {
  COMPARISONS,
  type Comparable,
  type ComparedAttribute,
  compareValues,
  type Operator,
  sumComparables,
  type Truth,
} from '../../catalog/filters/filters.ts';

/**
 * What a sum can be under the completions of its missing values, and whether a comparison holds for all of them.
 * Pure. Source: docs/interface §12.10 rule 11.
 */

/** What a product adds to a sum, as often as the set has it. */
export interface Addend {
  /** As uploaded; absent for a product without a value, which adds nothing unless its value is missing. */
  readonly text?: string | undefined;
  readonly isMissing: boolean;
  readonly times: number;
  /** Whether the product is certain to be added up: its side may be unknown. */
  readonly isSure: boolean;
}

/** The ends of a range of sums; each is undefined if the range is unlimited there. */
interface Range {
  readonly low: Comparable | undefined;
  readonly high: Comparable | undefined;
}

interface Summed {
  readonly attribute: ComparedAttribute;
  readonly addends: readonly Addend[];
  /** Whether a missing value may be negative. */
  readonly mayBeNegative: boolean;
}

/**
 * Whether the sum compares so with one of the limits. As a comparison only changes once from one end of the range to
 * the other, both ends decide.
 */
export function compareSum(
  summed: Summed,
  { operator, limits }: { readonly operator: Operator; readonly limits: readonly Comparable[] },
): Truth {
  if (limits.length === 0) return 0;
  const holds = (sum: Comparable) => limits.some((limit) => COMPARISONS[operator](compareValues(sum, limit)));
  const { low, high } = rangeOf(summed);
  const [atLow, atHigh] = [holds(low ?? Number.NEGATIVE_INFINITY), holds(high ?? Number.POSITIVE_INFINITY)];
  if (atLow !== atHigh) return 0;
  return atLow ? 1 : -1;
}

/** @returns the range of the sum after the computation of the attribute, which turns the range around if its factor is negative */
function rangeOf({ attribute, addends, mayBeNegative }: Summed): Range {
  const factor = Number(attribute.term?.times ?? 1);
  const isMissing = addends.some((one) => one.isMissing);
  // Times 0, every sum is the same.
  const isUnlimited = isMissing && factor !== 0;
  const sumAt = (end: -1 | 1) => sumComparables(chooseAddends(addends, attribute, end), attribute).comparable;
  const low = isUnlimited && mayBeNegative ? undefined : sumAt(-1);
  const high = isUnlimited ? undefined : sumAt(1);
  return factor < 0 ? { low: high, high: low } : { low, high };
}

/**
 * The addends that make the smallest sum, or the largest; a missing value is 0 here. A product that is perhaps added
 * up is chosen if that helps, and the best one of them if no product is certain: there is a sum only with a product.
 */
function chooseAddends(addends: readonly Addend[], attribute: ComparedAttribute, end: -1 | 1) {
  const { dimension: _, term: __, ...plain } = attribute;
  const numbered = addends.map(({ text, times, isSure }) => {
    const part = text === undefined ? [] : [{ text, times }];
    return { part, isSure, size: Number(sumComparables(part, plain).comparable) * end };
  });
  const chosen = numbered.filter(({ isSure, size }) => isSure || size > 0);
  if (chosen.length > 0) return chosen.flatMap(({ part }) => part);
  return numbered.reduce((best, one) => (one.size > best.size ? one : best)).part;
}
