import {
  type ComparedAttribute,
  compileFilter,
  type Filter,
  listConditions,
  readComparables,
  viewUpload,
} from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { ServedRelation } from '../memberships/memberships.ts';
import {
  type ExplainedElement,
  type ExplainedMatch,
  type Explanation,
  type Match,
  type MatchElement,
  matchesOf,
  type RelatedReason,
  type Side,
} from '../relation-definitions/relation-definitions.ts';
import {
  type BoundRule,
  type CompiledMatch,
  compiledOf,
  compileRule,
  describeMatch,
  finderOf,
  isApart,
  isPair,
  type Judgement,
  judgeElement,
  type MatchWords,
  type RowedValue,
  textsOf,
} from '../rules/rules.ts';
import { type MatchType, type SearchedRelation, searchRelated } from './related-search.ts';
import type { RelationView } from './related-view.ts';

type Explained = RelatedReason['source'];
type Condition = Explained['conditions'][number];

/** A group of a filter, or one condition. */
type ExplainedFilter =
  | { readonly all: readonly ExplainedFilter[]; readonly holds: boolean }
  | { readonly any: readonly ExplainedFilter[]; readonly holds: boolean }
  | { readonly not: ExplainedFilter; readonly holds: boolean }
  | Condition;

export function explainPair(
  bound: BoundRule,
  { source, target }: Readonly<Record<Side, UploadedProduct>>,
  locale: string,
): RelatedReason {
  const find = finderOf(bound);
  const explainSide = (filter: Filter, product: UploadedProduct): Explained => ({
    holds: compileFilter(filter, find)(viewUpload(product)),
    ...(isNested(filter) && { filter: explainFilter(filter, product, find) }),
    conditions: listConditions(filter).map((condition) => explainCondition(condition, product, find)),
  });
  const judged = judgeElements(bound, { source, target });
  const isAssumed = judged.every(({ truth }) => truth === 1);
  const assumed = [...new Set(isAssumed ? judged.flatMap((judgement) => judgement.assumed) : [])];
  return {
    source: explainSide(bound.rule.source, source),
    target: explainSide(bound.rule.target, target),
    match: explainElements(bound, judged, { locale, add: () => undefined }),
    ...(assumed.length > 0 && { assumed }),
  };
}

/**
 * @returns the elements of a rule with the compared values, the sentences about them and the members that
 * `add` returns
 */
export const explainElements = <More>(
  bound: BoundRule,
  judged: readonly Judgement[],
  { locale, add }: { readonly locale: string; readonly add: (judgement: Judgement) => More },
): (ExplainedElement & More)[] => {
  const texts = textsOf(locale);
  return compileRule(bound).elements.map((element, index) => {
    const written = matchesOf(bound.rule.match[index] as MatchElement);
    const { [index]: whole } = judged as Judgement[];
    const explained = compiledOf(element).map((match, innerIndex) => {
      const judgement = (whole?.inner?.[innerIndex] ?? whole) as Judgement;
      const words = describeMatch(match, judgement, texts);
      return { ...explainMatch(match, written[innerIndex] as Match, judgement), ...words, ...add(judgement) };
    });
    const [only] = explained as [(typeof explained)[number]];
    if ('operator' in element) return only;
    const kind = 'any' in element ? 'any' : 'together';
    return {
      holds: whole?.truth === 1,
      [kind]: explained,
      ...add(whole as Judgement),
    } as ExplainedElement & More;
  });
};

/** @returns the judgement of each element of the rule for two products */
export const judgeElements = (
  bound: BoundRule,
  { source, target }: Readonly<Record<Side, UploadedProduct>>,
): Judgement[] =>
  compileRule(bound).elements.map((element) =>
    judgeElement(element, {
      source: (attribute) => readComparables(source, attribute),
      target: (attribute) => readComparables(target, attribute),
    }),
  );

function explainMatch(
  match: CompiledMatch,
  { missing, table, ...written }: Match,
  { truth, values: { target: left, source: right } }: Judgement,
): Omit<ExplainedMatch, keyof MatchWords> {
  const ofTarget = left.filter((a) => right.some((b) => isPair(match, b, a)));
  const ofSource = right.filter((b) => left.some((a) => isPair(match, b, a)));
  const termOf = (value: Match['source']) => {
    if (typeof value === 'string' || 'field' in value) return undefined;
    const { attribute, ...term } = value;
    return term;
  };
  const [targetTerm, sourceTerm] = [termOf(written.target), termOf(written.source)];
  return {
    target: match.target.name,
    operator: match.operator,
    source: match.source.name,
    ...(targetTerm && { targetTerm }),
    ...(sourceTerm && { sourceTerm }),
    ...(missing !== undefined && { missing }),
    ...(table !== undefined && { table }),
    holds: truth === 1,
    targetValues: valueTextsOf(ofTarget, left),
    sourceValues: valueTextsOf(ofSource, right),
  };
}

/** Whether a filter is nested. The list of conditions describes every other filter completely. */
const isNested = (filter: Filter) =>
  'any' in filter || 'not' in filter || ('all' in filter && filter.all.some((part) => isGroup(part)));
const isGroup = (filter: Filter) => 'all' in filter || 'any' in filter || 'not' in filter;

function explainFilter(
  filter: Filter,
  product: UploadedProduct,
  find: (name: string) => ComparedAttribute,
): ExplainedFilter {
  const holds = compileFilter(filter, find)(viewUpload(product));
  const explain = (part: Filter) => explainFilter(part, product, find);
  if ('all' in filter) return { holds, all: filter.all.map(explain) };
  if ('any' in filter) return { holds, any: filter.any.map(explain) };
  return 'not' in filter ? { holds, not: explain(filter.not) } : explainCondition(filter, product, find);
}

function explainCondition(
  condition: Filter,
  product: UploadedProduct,
  find: (name: string) => ComparedAttribute,
): Condition {
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
  return { condition, holds, values: valueTextsOf(satisfying, values) };
}

const orAll = <Value>(satisfying: readonly Value[], all: readonly Value[]) =>
  satisfying.length > 0 ? satisfying : all;

const valueTextsOf = (satisfying: readonly RowedValue[], all: readonly RowedValue[]) =>
  orAll(satisfying, all).map(({ text = '' }) => text);

/** @returns the requested product and the result by the sides that they are on */
export const orient = <Product>(matchType: MatchType, requested: Product, result: Product) =>
  matchType === 'FIRST_WAY' ? { source: requested, target: result } : { source: result, target: requested };

interface FoundProducts extends Omit<LinkedPair, 'identifier'> {
  readonly requested: UploadedProduct;
  readonly result: UploadedProduct;
  /** The locale of the sentences. */
  readonly locale: string;
}

/** Explains why a relation leads from one product to another. Source: docs/interface §12.6 rule 1. */
export const explainFound = (
  view: RelationView,
  relation: SearchedRelation,
  { requested, result, locale, ...pair }: FoundProducts,
): RelatedReason =>
  relation.isListed
    ? explainLinked(view, relation, { ...pair, identifier: requested.identifier })
    : explainPair(relation.bound, orient(pair.matchType, requested, result), locale);

/** A requested product, and another product that may be among its results. */
interface LinkedPair {
  readonly identifier: string;
  readonly productId: number;
  readonly matchType: MatchType;
}

/** Explains which product lists the other, and at which position. Source: docs/interface §12.6, §12.8. */
export function explainLinked(
  view: RelationView,
  { build }: SearchedRelation,
  { identifier, productId, matchType }: LinkedPair,
): RelatedReason {
  const isForward = matchType === 'FIRST_WAY';
  const linked = view.listLinked({ build, side: isForward ? 'target' : 'source', identifier });
  const listing = linked.find((linkedProduct) => linkedProduct.productId === productId);
  const side = { holds: listing !== undefined, conditions: [] };
  const by = isForward ? identifier : view.findIdentifier(productId);
  const quantity = listing?.quantity ?? undefined;
  const listed = listing && { by, position: listing.place + 1, ...(quantity !== undefined && { quantity }) };
  return { source: side, target: side, match: [], listed: listed ?? null };
}

/** Explains why a product is, or is not, among the results of another. Source: docs/interface §12.6. */

export interface ExplainInput {
  readonly projectId: number;
  readonly id: number;
  readonly source: string;
  readonly target: string;
  readonly locale: string;
}

const SEARCHED_GROUPS = 1_000;

/** @returns the explanation, or the identifier that no product has */
export function explainRelation(
  view: RelationView,
  relation: ServedRelation,
  { source, target, locale }: ExplainInput,
): Explanation | { readonly unknown: string } {
  const [from, to] = [view.findUpload(source), view.findUpload(target)];
  if (from === undefined || to === undefined) return { unknown: from === undefined ? source : target };
  const { matchType, groups } = searchRelated(view, relation, {
    identifier: source,
    source: view.findSource(source),
    limit: SEARCHED_GROUPS,
  });
  const position = groups.flat().indexOf(to.productId);
  const requested = JSON.parse(from.raw) as UploadedProduct;
  const result = JSON.parse(to.raw) as UploadedProduct;
  const excluded = describeExclusion(requested, result, relation.excludeSameGroup);
  const explained = explainFound(view, relation, {
    ...{ requested, result, locale },
    ...{ productId: to.productId, matchType },
  });
  const isBehind = groups.length === SEARCHED_GROUPS && excluded === null && holdsThroughout(explained);
  return {
    related: position >= 0 || isBehind,
    matchType,
    rank: position < 0 ? null : position + 1,
    excluded,
    ...explained,
  };
}

const holdsThroughout = ({ source, target, match }: RelatedReason) =>
  source.holds && target.holds && match.every(({ holds }) => holds);

function describeExclusion(requested: UploadedProduct, result: UploadedProduct, excludeSameGroup: boolean) {
  if (requested.identifier === result.identifier) return 'same product';
  return isApart(requested, result, excludeSameGroup) ? null : 'same group';
}
