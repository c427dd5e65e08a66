import {
  type AttributeCondition,
  compileFilter,
  type Filter,
  type FindAttribute,
  type ProductView,
} from './filter.ts';

/**
 * False, unknown or true: the strong logic of Kleene (Introduction to Metamathematics, 1952, §64), in which what is unknown
 * stays so unless the rest decides. Source: docs/interface.md §12.10.
 */
export type Truth = -1 | 0 | 1;

/** Of parts that must all hold; of none, true. */
export const least = (truths: readonly Truth[]): Truth => Math.min(1, ...truths) as Truth;

/** Of parts of which one is enough; of none, false. */
const greatest = (truths: readonly Truth[]): Truth => Math.max(-1, ...truths) as Truth;

/** 0 for 0, and not -0. */
const opposite = (truth: Truth): Truth => (0 - truth) as Truth;

/**
 * A condition on an attribute without a value is unknown, where a test of the filter takes it for false; `exists` never is.
 * @throws ComparisonProblem
 */
export function judgeFilter(filter: Filter, find: FindAttribute): (product: ProductView) => Truth {
  const judge = (one: Filter) => judgeFilter(one, find);
  if ('all' in filter || 'any' in filter) {
    const combine = 'all' in filter ? least : greatest;
    const parts = ('all' in filter ? filter.all : filter.any).map(judge);
    return (product) => combine(parts.map((part) => part(product)));
  }
  if ('not' in filter) {
    const part = judge(filter.not);
    return (product) => opposite(part(product));
  }
  const test = compileFilter(filter, find);
  const isMissing = isOnValue(filter) ? isWithoutValue(filter, find) : () => false;
  return (product) => (isMissing(product) ? 0 : test(product) ? 1 : -1);
}

const isOnValue = (filter: Filter): filter is AttributeCondition =>
  'attribute' in filter && filter.operator !== 'exists';

function isWithoutValue({ attribute: name }: AttributeCondition, find: FindAttribute) {
  const attribute = find(name);
  return (product: ProductView) => product.valuesOf(attribute).length === 0;
}

/** @returns the attributes whose missing values leave a filter unknown, each once; none where it is decided */
export function listUnknown(filter: Filter, find: FindAttribute, product: ProductView): string[] {
  if (judgeFilter(filter, find)(product) !== 0) return [];
  const list = (parts: readonly Filter[]) => [
    ...new Set(parts.flatMap((part) => listUnknown(part, find, product))),
  ];
  if ('all' in filter) return list(filter.all);
  if ('any' in filter) return list(filter.any);
  if ('not' in filter) return list([filter.not]);
  return isOnValue(filter) ? [filter.attribute] : [];
}
