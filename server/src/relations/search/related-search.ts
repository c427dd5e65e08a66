import type { Operator } from '../../catalog/filters/filters.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { Side } from '../definitions/definitions.ts';
import { isMatch, type Membership, unpackMember } from '../memberships/memberships.ts';
import type { Candidate, CandidateSearch, FoundSource, RelationView, Variant } from './related-view.ts';

export type MatchType = 'FIRST_WAY' | 'SECOND_WAY';

/** A product's related groups, best first; in each its matching variants, best first: product ids. */
export interface FoundGroups {
  readonly matchType: MatchType;
  readonly groups: readonly (readonly number[])[];
}

/** A relation as the search needs it. */
export interface SearchedRelation {
  readonly build: number;
  /** A person lists what goes with what. */
  readonly isListed: boolean;
  readonly twoWay: boolean;
  readonly excludeSameGroup: boolean;
  readonly operators: readonly Operator[];
}

/** A product that is asked about. */
interface SearchedProduct {
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
  searched: SearchedProduct,
): FoundGroups {
  const groups = searchSide(view, relation, { ...searched, side: 'target' });
  if (groups.length > 0 || !relation.twoWay) return { matchType: 'FIRST_WAY', groups };
  const back = searchSide(view, relation, { ...searched, side: 'source' });
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
  searched: { source: FoundSource; limit: number; side: Side },
): (readonly number[])[] {
  const { source, limit, side } = searched;
  const query = toSearch(relation, searched);
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
function toSearch(
  { build, excludeSameGroup, operators }: SearchedRelation,
  { source, limit, side }: { source: FoundSource; limit: number; side: Side },
): CandidateSearch | undefined {
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
function share(view: RelationView, query: CandidateSearch): readonly ListedGroup[] {
  const all = { ...query, limit: query.limit + 1, excluded: undefined };
  const make = () => listGroups(view, all, undefined);
  return view.share?.(describeSearch(query), make, ({ products }) => 100 + 8 * products.length) ?? [];
}

/** @returns a key that all products with these values have */
function describeSearch({ build, side, limit, opposite }: CandidateSearch): string {
  const compared = opposite.compared.map((value) => value ?? '-');
  return `${build} ${side} ${limit} ${opposite.keys.join()} ${compared.join()}`;
}

/** `asked`: the product that is left out. */
function listGroups(view: RelationView, query: CandidateSearch, searched: number | undefined): ListedGroup[] {
  const groups = new Set<string>();
  for (const { productId, group } of view.listCandidates(query)) {
    if (productId === searched || group === query.excluded) continue;
    groups.add(group);
    if (groups.size === query.limit) break;
  }
  const isOther = ({ productId }: Variant) => productId !== searched;
  return [...groups].map((group) => ({
    group,
    products: sortVariants(view.listVariants(group).filter(isOther), query),
  }));
}

/** @returns the ids of those that match, by rank, then id */
function sortVariants(
  variants: readonly Variant[],
  { build, side, opposite, operators }: CandidateSearch,
): number[] {
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

/**
 * Finds what a product is listed with: groups in the order in which the list first names one of their products, in each
 * of them its products in that order. Source: docs/interface.md §12.8.
 */
function searchLinked(
  view: RelationView,
  { build, excludeSameGroup }: { build: number; excludeSameGroup: boolean },
  { identifier, limit, side }: { identifier: string; limit: number; side: Side },
): number[][] {
  // Both are asked for at once: a view that fetches then fetches once.
  const linked = view.listLinked({ build, side, identifier });
  const upload = view.findUpload(identifier);
  if (upload === undefined || linked.length === 0) return [];
  const excluded = excludeSameGroup ? groupOf(upload.raw) : undefined;
  const others = linked.filter(
    ({ productId, group }) => productId !== upload.productId && group !== excluded,
  );
  const groups = Map.groupBy(others, ({ group }) => group);
  return [...groups.values()].slice(0, limit).map((products) => products.map(({ productId }) => productId));
}

const groupOf = (raw: string) => (JSON.parse(raw) as UploadedProduct).groupIdentifier;

/** What goes with many products, by identifier alone: for callers that describe nothing. */

export interface RelatedSearch {
  readonly relation: SearchedRelation;
  /** Groups for each product. */
  readonly limit: number;
  /** `from`: what the product leads to, as answers have it. `to`: the products that lead to it. */
  readonly direction: 'from' | 'to';
}

/** @returns for each product and each requested relation the best product of each related group, best first */
export function listRelated(
  view: RelationView,
  identifiers: readonly string[],
  requested: readonly RelatedSearch[],
): (readonly string[])[][] {
  return identifiers.map((identifier) =>
    view.once(`related ${identifier}`, () => {
      const source = view.findSource(identifier);
      return requested.map(({ relation, limit, direction }) => {
        const searched = { identifier, source, limit };
        if (direction === 'to') return listBest(view, relation, { ...searched, side: 'source' });
        const there = listBest(view, relation, { ...searched, side: 'target' });
        if (there.length > 0 || !relation.twoWay) return there;
        return listBest(view, relation, { ...searched, side: 'source' });
      });
    }),
  );
}

/** The best of a group is the first candidate of it: its other variants need not be read. */
function listBest(
  view: RelationView,
  relation: SearchedRelation,
  { source, identifier, limit, side }: SearchedProduct & { side: Side },
): readonly string[] {
  if (relation.isListed) {
    const groups = searchLinked(view, relation, { identifier, limit, side });
    return groups.map(([best]) => view.findIdentifier(best as number));
  }
  const query = source && toSearch(relation, { source, limit, side });
  if (query === undefined) return [];
  if (view.share === undefined) return nameBest(view, view.listCandidates(query), { source, query });
  const first = view.share(`first ${describeSearch(query)}`, () => [listFirst(view, query)], weighFirst)[0];
  if (first === undefined) return [];
  const isAmong = first.candidates.some(
    ({ productId, group }) => productId === source?.productId || group === query.excluded,
  );
  return isAmong ? nameBest(view, first.candidates, { source, query }) : first.best;
}

interface NamedCandidate extends Candidate {
  readonly identifier?: string;
}

/** What all products with the same values share. */
interface FirstCandidates {
  /** They contain the best ones, whichever product with these values asks. */
  readonly candidates: readonly NamedCandidate[];
  /** For a product that is not among them. */
  readonly best: readonly string[];
}

/** Bytes, with texts. */
const weighFirst = ({ candidates }: FirstCandidates) => 200 + 150 * candidates.length;

function listFirst(view: RelationView, query: CandidateSearch): FirstCandidates {
  const all = { ...query, limit: query.limit + 1, excluded: undefined };
  const first = takeFirst(view.listCandidates(all), all.limit);
  const candidates = first.map(
    ({ productId, group }): NamedCandidate => ({
      ...{ productId, group },
      identifier: view.findIdentifier(productId),
    }),
  );
  return {
    candidates,
    best: nameBest(view, candidates, { source: undefined, query: { ...query, excluded: undefined } }),
  };
}

/** @returns the identifiers of the first candidate of each group, of as many groups as are requested */
function nameBest(
  view: RelationView,
  candidates: Iterable<NamedCandidate>,
  { source, query: { excluded, limit } }: { source: FoundSource | undefined; query: CandidateSearch },
): string[] {
  const best = new Map<string, string>();
  for (const { productId, group, identifier } of candidates) {
    if (productId === source?.productId || group === excluded || best.has(group)) continue;
    best.set(group, identifier ?? view.findIdentifier(productId));
    if (best.size === limit) break;
  }
  return [...best.values()];
}

/** Of so many groups the first two products: the first one may be the product that asks, or all of a group its own. */
function takeFirst(candidates: Iterable<Candidate>, limit: number): Candidate[] {
  const groups = new Map<string, Candidate[]>();
  const first: Candidate[] = [];
  for (const candidate of candidates) {
    const known = groups.get(candidate.group);
    if (known === undefined) groups.set(candidate.group, [candidate]);
    else if (known.length === 2 || known[0]?.productId === candidate.productId) continue;
    else known.push(candidate);
    first.push(candidate);
    if (groups.size === limit) break;
  }
  return first;
}
