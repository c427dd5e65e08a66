import type { UploadedProduct } from '../../catalog/catalog.ts';
import { compileRule, isListed } from '../definitions/definitions.ts';
import type { ServedRelation } from '../memberships/memberships.ts';
import { explainLinked } from './linked-explain.ts';
import { type MatchType, searchRelated } from './related-search.ts';
import type { RelationView } from './related-view.ts';
import { explainPair, type PairExplanation } from './relation-explain.ts';

/** Why a product is among the results of another, or is not. Source: docs/interface.md §12.6. */

export interface ExplainInput {
  readonly projectId: number;
  readonly id: number;
  readonly source: string;
  readonly target: string;
}

export interface RelationExplanation extends PairExplanation {
  /** Whether the target is among the results of the source. */
  readonly related: boolean;
  readonly matchType: MatchType;
  /** From 1, in the flattened list of all results; null when it is not among the first 1,000 groups. */
  readonly rank: number | null;
  readonly excluded: 'same product' | 'same group' | null;
}

const SEARCHED_GROUPS = 1_000;

/** @returns the identifier when a product is not there */
export function explainRelation(
  view: RelationView,
  { build, bound, definition, twoWay, excludeSameGroup }: ServedRelation,
  { source, target }: ExplainInput,
): RelationExplanation | { readonly unknown: string } {
  const [from, to] = [view.findUpload(source), view.findUpload(target)];
  if (from === undefined || to === undefined) return { unknown: from === undefined ? source : target };
  const operators = compileRule(bound).comparisons.map(({ operator }) => operator);
  const { matchType, groups } = searchRelated(
    view,
    { build, isListed: isListed(definition), twoWay, excludeSameGroup, operators },
    { identifier: source, source: view.findSource(source), limit: SEARCHED_GROUPS },
  );
  const place = groups.flat().indexOf(to.productId);
  const products = { source: JSON.parse(from.raw), target: JSON.parse(to.raw) } as Record<
    'source' | 'target',
    UploadedProduct
  >;
  const isForward = matchType === 'FIRST_WAY';
  const excluded = describeExclusion(products, excludeSameGroup);
  const explained = isListed(definition)
    ? explainLinked(view, { build, identifier: source, productId: to.productId, matchType })
    : explainPair(bound, isForward ? products : { source: products.target, target: products.source });
  const isBehind = groups.length === SEARCHED_GROUPS && excluded === null && holdsThroughout(explained);
  return {
    related: place >= 0 || isBehind,
    matchType,
    rank: place < 0 ? null : place + 1,
    excluded,
    ...explained,
  };
}

const holdsThroughout = ({ source, target, match }: PairExplanation) =>
  source.holds && target.holds && match.every(({ holds }) => holds);

function describeExclusion(
  { source, target }: Record<'source' | 'target', UploadedProduct>,
  excludeSameGroup: boolean,
): RelationExplanation['excluded'] {
  if (source.identifier === target.identifier) return 'same product';
  return excludeSameGroup && source.groupIdentifier === target.groupIdentifier ? 'same group' : null;
}
