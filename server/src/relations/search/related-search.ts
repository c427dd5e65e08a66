import type { Operator } from '../../catalog/catalog.ts';
import type { Side } from '../definitions/definitions.ts';
import { isMatch, type Membership, unpackMember } from '../memberships/memberships.ts';
import { searchLinked } from './linked-search.ts';
import type { FoundSource, RelationView, Variant, Wanted } from './related-view.ts';

export type MatchType = 'FIRST_WAY' | 'SECOND_WAY';

/** A product's related groups, best first; in each its matching variants, best first: product ids. */
export interface FoundGroups {
  readonly matchType: MatchType;
  readonly groups: readonly (readonly number[])[];
}

/** A relation as the search needs it. */
export interface SearchedRelation {
  readonly build: number;
  /** Somebody lists what goes with what. */
  readonly isListed: boolean;
  readonly twoWay: boolean;
  readonly excludeSameGroup: boolean;
  readonly operators: readonly Operator[];
}

/** A product that is asked about. */
export interface SearchedProduct {
  readonly identifier: string;
  /** What it is in relations by rules; undefined also for a product that is in none. */
  readonly source: FoundSource | undefined;
  readonly limit: number;
}

/**
 * Finds what goes with a product: along the relation, and where that leads to nothing and the relation is two-way, the
 * other way round. Source: docs/interface.md §4.8 rules 2 and 3, §12.3, §12.5.
 */
export function searchRelated(
  view: RelationView,
  relation: SearchedRelation,
  asked: SearchedProduct,
): FoundGroups {
  const groups = searchSide(view, relation, { ...asked, side: 'target' });
  if (groups.length > 0 || !relation.twoWay) return { matchType: 'FIRST_WAY', groups };
  const back = searchSide(view, relation, { ...asked, side: 'source' });
  return back.length > 0 ? { matchType: 'SECOND_WAY', groups: back } : { matchType: 'FIRST_WAY', groups: [] };
}

/** `side`: where the related products stand. */
export function searchSide(
  view: RelationView,
  relation: SearchedRelation,
  { source, identifier, limit, side }: SearchedProduct & { side: Side },
): (readonly number[])[] {
  if (relation.isListed) return searchLinked(view, relation, { identifier, limit, side });
  return source === undefined ? [] : searchRule(view, relation, { source, limit, side });
}

function searchRule(
  view: RelationView,
  relation: SearchedRelation,
  asked: { source: FoundSource; limit: number; side: Side },
): (readonly number[])[] {
  const { source, limit, side } = asked;
  const query = toWanted(relation, asked);
  if (query === undefined) return [];
  // A product that may be among its own results gives its group another place in them.
  const isAmong =
    !relation.excludeSameGroup &&
    source.memberships.some((one) => one.build === relation.build && one.side === side);
  const listed =
    isAmong || view.share === undefined ? listGroups(view, query, source.productId) : share(view, query);
  return listed
    .filter(({ group }) => group !== query.excluded)
    .slice(0, limit)
    .map(({ products }) => products);
}

/** @returns undefined for a product that is not on the other side, or matches nothing there */
export function toWanted(
  { build, excludeSameGroup, operators }: SearchedRelation,
  { source, limit, side }: { source: FoundSource; limit: number; side: Side },
): Wanted | undefined {
  const own = side === 'target' ? 'source' : 'target';
  const opposite = source.memberships.find((one) => one.build === build && one.side === own);
  if (opposite === undefined || opposite.keys.length === 0) return undefined;
  const excluded = excludeSameGroup ? source.group : undefined;
  return { build, side, opposite, operators, limit, excluded };
}

interface ListedGroup {
  readonly group: string;
  /** Ids. */
  readonly products: readonly number[];
}

/** The same list for all products with these values: one group more, as each of them leaves its own out. */
function share(view: RelationView, query: Wanted): readonly ListedGroup[] {
  const all = { ...query, limit: query.limit + 1, excluded: undefined };
  const make = () => listGroups(view, all, undefined);
  return view.share?.(describeWanted(query), make, ({ products }) => 100 + 8 * products.length) ?? [];
}

/** @returns a key that all products with these values have */
export function describeWanted({ build, side, limit, opposite }: Wanted): string {
  const compared = opposite.compared.map((value) => value ?? '-');
  return `${build} ${side} ${limit} ${opposite.keys.join()} ${compared.join()}`;
}

/** `asked`: the product that is left out. */
function listGroups(view: RelationView, query: Wanted, asked: number | undefined): ListedGroup[] {
  const groups = new Set<string>();
  for (const { productId, group } of view.listCandidates(query)) {
    if (productId === asked || group === query.excluded) continue;
    groups.add(group);
    if (groups.size === query.limit) break;
  }
  const isWanted = ({ productId }: Variant) => productId !== asked;
  return [...groups].map((group) => ({
    group,
    products: sortVariants(view.listVariants(group).filter(isWanted), query),
  }));
}

/** @returns the ids of those that match, by rank, then id */
function sortVariants(variants: readonly Variant[], { build, side, opposite, operators }: Wanted): number[] {
  const matches = (member: Membership) =>
    side === 'target' ? isMatch(opposite, member, operators) : isMatch(member, opposite, operators);
  return variants
    .flatMap(({ productId, packed }) => {
      const member = unpackMember(packed, build, side);
      return member !== undefined && matches(member)
        ? [{ productId, rank: Buffer.from(member.rank, 'base64') }]
        : [];
    })
    .sort((a, b) => Buffer.compare(a.rank, b.rank) || a.productId - b.productId)
    .map(({ productId }) => productId);
}
