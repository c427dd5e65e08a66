import {
  COMPARISONS,
  type ComparableValue,
  type ComparedAttribute,
  compareValues,
  compileFilter,
  type Filter,
  listConditions,
  readComparables,
  type UploadedProduct,
  viewUpload,
} from '../../catalog/catalog.ts';
import type { Match, Side } from '../definitions/definitions.ts';
import { type BoundRule, compileRule } from '../definitions/definitions.ts';

/** Why two products are related or are not. Source: docs/interface.md §12.6. */
export interface PairExplanation {
  readonly source: SideExplanation;
  readonly target: SideExplanation;
  readonly match: readonly MatchExplanation[];
  /** In a relation of links: which product lists the other one, and at which position from 1; null: none does. */
  readonly listed?: { readonly by: string; readonly position: number } | null;
}

export interface SideExplanation {
  /** Whether the filter as a whole holds. */
  readonly holds: boolean;
  /** As it is written, where the groups around the conditions decide too. */
  readonly filter?: FilterExplanation;
  readonly conditions: readonly ConditionExplanation[];
}

/** A group of a filter, or a condition. */
export type FilterExplanation =
  | { readonly all: readonly FilterExplanation[]; readonly holds: boolean }
  | { readonly any: readonly FilterExplanation[]; readonly holds: boolean }
  | { readonly not: FilterExplanation; readonly holds: boolean }
  | ConditionExplanation;

export interface ConditionExplanation {
  readonly condition: Filter;
  /** Of the condition alone, whatever stands around it. */
  readonly holds: boolean;
  /** As uploaded: those that satisfied it, or, where none did, those that the product has. */
  readonly values: readonly string[];
}

export interface MatchExplanation extends Pick<Match, 'operator'> {
  readonly target: string;
  readonly source: string;
  readonly holds: boolean;
  readonly targetValues: readonly string[];
  readonly sourceValues: readonly string[];
}

export function explainPair(
  bound: BoundRule,
  { source, target }: Readonly<Record<Side, UploadedProduct>>,
): PairExplanation {
  const byName = new Map(bound.attributes.map((attribute) => [attribute.name, attribute]));
  const find = (name: string) => {
    const attribute = byName.get(name);
    if (attribute === undefined) throw new Error(`the rule was bound without the attribute ${name}`);
    return attribute;
  };
  const explainSide = (filter: Filter, product: UploadedProduct): SideExplanation => ({
    holds: compileFilter(filter, find)(viewUpload(product)),
    ...(isNested(filter) && { filter: explainFilter(filter, product, find) }),
    conditions: listConditions(filter).map((condition) => explainCondition(condition, product, find)),
  });
  return {
    source: explainSide(bound.rule.source, source),
    target: explainSide(bound.rule.target, target),
    match: compileRule(bound).matches.map((match) => {
      const [left, right] = [readComparables(target, match.target), readComparables(source, match.source)];
      const holds = (a: ComparableValue, b: ComparableValue) =>
        COMPARISONS[match.operator](compareValues(a.comparable, b.comparable));
      const ofTarget = left.filter((a) => right.some((b) => holds(a, b)));
      const ofSource = right.filter((b) => left.some((a) => holds(a, b)));
      return {
        target: match.target.name,
        operator: match.operator,
        source: match.source.name,
        holds: ofTarget.length > 0,
        targetValues: textsOf(ofTarget, left),
        sourceValues: textsOf(ofSource, right),
      };
    }),
  };
}

/** Of others, the list of conditions says everything. */
const isNested = (filter: Filter) =>
  'any' in filter || 'not' in filter || ('all' in filter && filter.all.some((one) => isGroup(one)));
const isGroup = (filter: Filter) => 'all' in filter || 'any' in filter || 'not' in filter;

function explainFilter(
  filter: Filter,
  product: UploadedProduct,
  find: (name: string) => ComparedAttribute,
): FilterExplanation {
  const holds = compileFilter(filter, find)(viewUpload(product));
  const explain = (one: Filter) => explainFilter(one, product, find);
  if ('all' in filter) return { holds, all: filter.all.map(explain) };
  if ('any' in filter) return { holds, any: filter.any.map(explain) };
  return 'not' in filter ? { holds, not: explain(filter.not) } : explainCondition(filter, product, find);
}

function explainCondition(
  condition: Filter,
  product: UploadedProduct,
  find: (name: string) => ComparedAttribute,
): ConditionExplanation {
  const test = compileFilter(condition, find);
  const view = viewUpload(product);
  const holds = test(view);
  if ('category' in condition) {
    const isUnder = (path: readonly string[]) => test({ ...view, categories: [path] });
    const shown = orAll(view.categories.filter(isUnder), view.categories);
    return { condition, holds, values: shown.map((path) => path.join(' > ')) };
  }
  if (!('attribute' in condition))
    return { condition, holds, values: 'identifiers' in condition ? [product.identifier] : [] };
  const values = readComparables(product, find(condition.attribute));
  const { identifier, categories } = view;
  const satisfying = values.filter(({ comparable }) =>
    test({ identifier, categories, valuesOf: () => [comparable] }),
  );
  return { condition, holds, values: textsOf(satisfying, values) };
}

const orAll = <Value>(satisfying: readonly Value[], all: readonly Value[]) =>
  satisfying.length > 0 ? satisfying : all;

const textsOf = (satisfying: readonly ComparableValue[], all: readonly ComparableValue[]) =>
  orAll(satisfying, all).map(({ text }) => text);
