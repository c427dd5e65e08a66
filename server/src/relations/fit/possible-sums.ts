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
 * Computes which sums the completions of missing values can make, and whether a comparison holds for all of
 * them. Pure. Source: docs/interface §12.10 rule 11.
 */

/** The value that a product adds to a sum, multiplied by its quantity. */
export interface Addend {
  /** As uploaded. Absent for a product without a value, which adds nothing unless `isMissing` is true. */
  readonly text?: string | undefined;
  readonly isMissing: boolean;
  readonly times: number;
  /** Whether the product is certainly added up; false if its side is unknown. */
  readonly isSure: boolean;
}

/** The ends of a range of sums. An end without a limit is undefined. */
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
 * Whether the sum satisfies the comparison with one of the limits. The result of a comparison changes at
 * most once within the range, so the two ends of the range decide.
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

/**
 * @returns the range of the sum after the computation of the attribute. A negative factor exchanges the two
 * ends.
 */
function rangeOf({ attribute, addends, mayBeNegative }: Summed): Range {
  const factor = Number(attribute.term?.times ?? 1);
  const isMissing = addends.some((addend) => addend.isMissing);
  // A factor of 0 makes every sum the same.
  const isUnlimited = isMissing && factor !== 0;
  const sumAt = (end: -1 | 1) => sumComparables(chooseAddends(addends, attribute, end), attribute).comparable;
  const low = isUnlimited && mayBeNegative ? undefined : sumAt(-1);
  const high = isUnlimited ? undefined : sumAt(1);
  return factor < 0 ? { low: high, high: low } : { low, high };
}

/**
 * Chooses the addends of the smallest or the largest sum; a missing value counts as 0 here. A product whose
 * side is unknown is chosen if it makes the sum smaller or larger. If no product is certain, the best one is
 * chosen, because a sum needs a product.
 */
function chooseAddends(addends: readonly Addend[], attribute: ComparedAttribute, end: -1 | 1) {
  const { dimension: _, term: __, ...plain } = attribute;
  const numbered = addends.map(({ text, times, isSure }) => {
    const part = text === undefined ? [] : [{ text, times }];
    return { part, isSure, size: Number(sumComparables(part, plain).comparable) * end };
  });
  const chosen = numbered.filter(({ isSure, size }) => isSure || size > 0);
  if (chosen.length > 0) return chosen.flatMap(({ part }) => part);
  return numbered.reduce((best, addend) => (addend.size > best.size ? addend : best)).part;
}
