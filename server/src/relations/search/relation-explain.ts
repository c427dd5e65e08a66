import type { UploadedProduct } from '../../catalog/catalog.ts';
import type { Filter, Match, Side } from '../definitions/definitions.ts';
import {
  type BoundRule,
  COMPARISONS,
  type Comparable,
  compareValues,
  compileFilter,
  compileRule,
  listConditions,
  type ProductView,
  type RuleAttribute,
  readComparable,
} from '../definitions/definitions.ts';

/** Why two products are related or are not. Source: docs/interface.md §12.6. */
export interface PairExplanation {
  readonly source: SideExplanation;
  readonly target: SideExplanation;
  readonly match: readonly MatchExplanation[];
}

export interface SideExplanation {
  /** Whether the filter as a whole holds. */
  readonly holds: boolean;
  readonly conditions: readonly ConditionExplanation[];
}

export interface ConditionExplanation {
  readonly condition: Filter;
  /** Of the condition alone, whatever stands around it. */
  readonly holds: boolean;
  /** As uploaded: those that satisfied it, or, where none did, those that the product has. */
  readonly values: readonly string[];
}

export interface MatchExplanation extends Match {
  readonly holds: boolean;
  readonly targetValues: readonly string[];
  readonly sourceValues: readonly string[];
}

/** A value as it was uploaded and as it compares. */
interface ReadValue {
  readonly text: string;
  readonly comparable: Comparable;
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
    holds: compileFilter(filter, find)(viewOf(product)),
    conditions: listConditions(filter).map((condition) => explainCondition(condition, product, find)),
  });
  return {
    source: explainSide(bound.rule.source, source),
    target: explainSide(bound.rule.target, target),
    match: compileRule(bound).matches.map((match) => {
      const [left, right] = [readValues(target, match.target), readValues(source, match.source)];
      const holds = (a: ReadValue, b: ReadValue) =>
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

function explainCondition(
  condition: Filter,
  product: UploadedProduct,
  find: (name: string) => RuleAttribute,
): ConditionExplanation {
  const test = compileFilter(condition, find);
  const view = viewOf(product);
  const holds = test(view);
  if (!('attribute' in condition)) {
    const values = 'category' in condition ? product.categories.map(({ path }) => path.join(' > ')) : [];
    return { condition, holds, values: 'identifiers' in condition ? [product.identifier] : values };
  }
  const values = readValues(product, find(condition.attribute));
  const satisfying = values.filter(({ comparable }) => test({ ...view, valuesOf: () => [comparable] }));
  return { condition, holds, values: textsOf(satisfying, values) };
}

const textsOf = (satisfying: readonly ReadValue[], all: readonly ReadValue[]) =>
  (satisfying.length > 0 ? satisfying : all).map(({ text }) => text);

function readValues({ attributes }: UploadedProduct, attribute: RuleAttribute): ReadValue[] {
  return attributes.flatMap(({ key, value: text }) => {
    const comparable = attribute.keys.includes(key) ? readComparable(text, attribute) : undefined;
    return comparable === undefined ? [] : [{ text, comparable }];
  });
}

const viewOf = (product: UploadedProduct): ProductView => ({
  identifier: product.identifier,
  groupIdentifier: product.groupIdentifier,
  categories: product.categories.map(({ path }) => path),
  valuesOf: (attribute) => readValues(product, attribute).map(({ comparable }) => comparable),
});
