import type { UploadedProduct } from '../../catalog/products/products.ts';
import {
  createJudge,
  type EncodedProbe,
  findProbes,
  isMatch,
  type Membership,
  type PairJudgement,
  planIndex,
  type RuleIndex,
  type ServedRelation,
  unpackMember,
} from '../memberships/memberships.ts';
import type { Side } from '../relation-definitions/relation-definitions.ts';
import { compileRule } from '../rules/rules.ts';
import {
  type Candidate,
  type CandidateSearch,
  type FoundSource,
  mergeRanked,
  positionOf,
  type RelationView,
  type Variant,
} from './related-view.ts';

export type MatchType = 'FIRST_WAY' | 'SECOND_WAY';

/**
 * The related groups of a product, best first. Each group lists the ids of its matching variants, best first.
 */
export interface FoundGroups {
  readonly matchType: MatchType;
  readonly groups: readonly (readonly number[])[];
  /** Products that match only by assumption, with the names of the attributes that have no value. */
  readonly assumed?: ReadonlyMap<number, readonly string[]>;
  /** The quantity of each product, if the relation is a list of links that gives quantities. */
  readonly quantities?: ReadonlyMap<number, number>;
}

/** The part of a relation that a search needs. */
export type SearchedRelation = Pick<
  ServedRelation,
  'build' | 'bound' | 'isListed' | 'twoWay' | 'excludeSameGroup'
>;

/** The requested product. */
interface SearchedProduct {
  readonly identifier: string;
  /** The memberships of the product in relations by rules; undefined if no such relation includes it. */
  readonly source: FoundSource | undefined;
  readonly limit: number;
  /**
   * True if the caller needs only the best product of each group. A view that fetches may return the others
   * too.
   */
  readonly isBestEnough?: boolean;
}

/**
 * Finds related products in the direction of the relation. If that finds nothing and the relation is two-way,
 * the search runs in the other direction. Source: docs/interface §4.8 rules 2 and 3, §12.3, §12.5.
 */
export function searchRelated(
  view: RelationView,
  relation: SearchedRelation,
  searched: SearchedProduct,
): FoundGroups {
  const find = (side: Side) => searchSide(view, relation, { ...searched, side });
  const { side, results } = findEitherWay(relation, find, ({ groups }) => groups.length > 0);
  return {
    matchType: side === 'source' && results.groups.length > 0 ? 'SECOND_WAY' : 'FIRST_WAY',
    ...results,
  };
}

function findEitherWay<Found>(
  { twoWay }: SearchedRelation,
  find: (side: Side) => Found,
  isFound: (results: Found) => boolean,
): { side: Side; results: Found } {
  const forward = find('target');
  if (isFound(forward) || !twoWay) return { side: 'target', results: forward };
  return { side: 'source', results: find('source') };
}

/** @param searched its `side` is the side of the related products */
export function searchSide(
  view: RelationView,
  relation: SearchedRelation,
  searched: SearchedProduct & { readonly side: Side },
): Omit<FoundGroups, 'matchType'> {
  if (relation.isListed) return searchListed(view, relation, searched);
  const query = toSearch(relation, searched);
  if (query === undefined) return { groups: [] };
  return toFound(searched.isBestEnough ? listBest(view, query).map(toListed) : listWhole(view, query));
}

function toFound(listed: readonly ListedGroup[]): Omit<FoundGroups, 'matchType'> {
  const assumed = new Map(listed.flatMap((group) => group.assumed));
  return { groups: listed.map(({ products }) => products), ...(assumed.size > 0 && { assumed }) };
}

/** A search on one side, for a plain rule or for a rule with an index of its own. */
interface SideSearch extends CandidateSearch {
  readonly index: RuleIndex | undefined;
  /** The id of the requested product, which is excluded from the results. */
  readonly requested: number | undefined;
  /**
   * Whether the requested product may be among the candidates, where it would change the position of its
   * group.
   */
  readonly isAmong: boolean;
}

/** @returns undefined if the product is not on the other side or can match nothing there */
function toSearch(
  { build, bound, excludeSameGroup }: SearchedRelation,
  { source, limit, side }: SearchedProduct & { readonly side: Side },
): SideSearch | undefined {
  const own = side === 'target' ? 'source' : 'target';
  const opposite = source?.memberships.find(
    (membership) => membership.build === build && membership.side === own,
  );
  if (source === undefined || opposite === undefined || opposite.keys.length === 0) return undefined;
  const rule = compileRule(bound);
  return {
    build,
    side,
    opposite,
    operators: rule.operators,
    limit,
    index: planIndex(rule),
    excluded: excludeSameGroup ? source.group : undefined,
    requested: source.productId,
    isAmong:
      !excludeSameGroup &&
      source.memberships.some((membership) => membership.build === build && membership.side === side),
  };
}

/**
 * The search that all products with these values share. It finds one more group, because each product
 * excludes its own.
 */
const forAll = (query: SideSearch): SideSearch => ({
  ...query,
  limit: query.limit + 1,
  excluded: undefined,
  requested: undefined,
});

/** @returns a key that is the same for all products with these values */
function describeSearch({ build, side, limit, opposite }: CandidateSearch): string {
  const compared = opposite.compared.map((value) => value ?? '-');
  if (opposite.values !== undefined) return `${build} ${side} ${limit} ${opposite.values}`;
  return `${build} ${side} ${limit} ${opposite.keys.join()} ${compared.join()}`;
}

/**
 * The products and index positions that a list depends on. A rule with an index of its own has other keys
 * than the memberships of products, so its lists depend on the whole side.
 */
const basisOf = ({ index, opposite, ...side }: SideSearch, products: readonly number[]) => ({
  products,
  positions: (index === undefined ? opposite.keys : ['']).map((key) => positionOf(side, key)),
});

interface ListedGroup {
  readonly group: string;
  /** Product ids. */
  readonly products: readonly number[];
  /** Products that match by assumption, with the names of the attributes that have no value. */
  readonly assumed: readonly (readonly [number, readonly string[]])[];
}

function listWhole(view: RelationView, query: SideSearch): readonly ListedGroup[] {
  if (query.isAmong || view.share === undefined) return listGroups(view, query);
  const make = () => listGroups(view, forAll(query));
  const weigh = ({ products }: ListedGroup) => 100 + 48 * products.length;
  const describe = (list: readonly ListedGroup[]) =>
    basisOf(
      query,
      list.flatMap(({ products }) => products),
    );
  return view
    .share(describeSearch(query), make, { weigh, describe })
    .filter(({ group }) => group !== query.excluded)
    .slice(0, query.limit);
}

function listGroups(view: RelationView, query: SideSearch): ListedGroup[] {
  const judge = toJudge(query);
  return chooseBest(listMatching(view, query), query).map(({ group }) => {
    const others = view.listVariants(group).filter(({ productId }) => productId !== query.requested);
    return { group, ...sortVariants(others, query, judge) };
  });
}

/**
 * @returns the best product of each group. That is the group's first candidate, so the other variants are not
 * read. Products with the same values share the first candidates. A product that is itself among the best
 * gets a list of its own.
 */
function listBest(view: RelationView, query: SideSearch): readonly MatchingCandidate[] {
  if (view.share === undefined) return chooseBest(listMatching(view, query), query);
  const make = (): FirstCandidates[] => {
    const first = takeFirst(view, forAll(query));
    return [{ first, best: chooseBest(first, { ...forAll(query), limit: query.limit }) }];
  };
  const describe = ([shared]: readonly FirstCandidates[]) =>
    basisOf(query, shared?.first.map(({ productId }) => productId) ?? []);
  const how = { weigh: weighFirst, describe };
  const [{ first, best }] = view.share(`first ${describeSearch(query)}`, make, how) as [FirstCandidates];
  const isOwn = ({ productId, group }: Candidate) =>
    productId === query.requested || group === query.excluded;
  return best.some(isOwn) ? chooseBest(first, query) : best;
}

interface FirstCandidates {
  readonly first: readonly MatchingCandidate[];
  /** The best products for a product that is not among them. */
  readonly best: readonly MatchingCandidate[];
}

const weighFirst = ({ first }: FirstCandidates) =>
  first.reduce((sum, candidate) => sum + weighCandidate(candidate), 100);

/**
 * The approximate size of a candidate with its texts. The names of assumed attributes are few and are not
 * counted.
 */
const weighCandidate = ({ group, identifier = '' }: MatchingCandidate) =>
  160 + group.length + identifier.length;

const toListed = ({ group, productId, assumed = [] }: MatchingCandidate): ListedGroup => ({
  group,
  products: [productId],
  assumed: assumed.length > 0 ? [[productId, assumed]] : [],
});

/** @returns the first candidate of each group, for as many groups as requested */
function chooseBest(candidates: Iterable<MatchingCandidate>, { excluded, limit, requested }: SideSearch) {
  const best = new Map<string, MatchingCandidate>();
  for (const candidate of candidates) {
    const { productId, group } = candidate;
    if (productId === requested || group === excluded || best.has(group)) continue;
    best.set(group, candidate);
    if (best.size === limit) break;
  }
  return [...best.values()];
}

/**
 * @returns the first two products of each group, because the first may be the requested product. They include
 * the best products for any product with these values.
 */
function takeFirst(view: RelationView, query: SideSearch): MatchingCandidate[] {
  const groups = new Map<string, Candidate[]>();
  const first: MatchingCandidate[] = [];
  for (const candidate of listMatching(view, query)) {
    const candidates = groups.get(candidate.group);
    if (candidates === undefined) groups.set(candidate.group, [candidate]);
    else if (candidates.length === 2 || candidates[0]?.productId === candidate.productId) continue;
    else candidates.push(candidate);
    first.push(candidate);
    if (groups.size === query.limit) break;
  }
  return first;
}

type Judge = (member: Membership) => PairJudgement;

function toJudge({ side, opposite, operators, index }: SideSearch): Judge {
  if (index !== undefined) return createJudge(index, opposite);
  return (member) => ({
    holds: side === 'target' ? isMatch(opposite, member, operators) : isMatch(member, opposite, operators),
    assumed: [],
  });
}

/**
 * @returns the ids of matching variants. Variants without assumptions come first, then the order is by rank
 * and id.
 */
function sortVariants(variants: readonly Variant[], { build, side }: SideSearch, judge: Judge) {
  const matching = variants
    .flatMap(({ productId, packed }) => {
      const member = unpackMember(packed, build, side);
      const judged = member && judge(member);
      if (member === undefined || !judged?.holds) return [];
      return [{ productId, rank: member.rank, assumed: judged.assumed }];
    })
    .sort(
      (a, b) =>
        Number(a.assumed.length > 0) - Number(b.assumed.length > 0) ||
        compareRanks(a.rank, b.rank) ||
        a.productId - b.productId,
    );
  return {
    products: matching.map(({ productId }) => productId),
    assumed: matching.flatMap(({ productId, assumed }) =>
      assumed.length > 0 ? [[productId, assumed] as const] : [],
    ),
  };
}

/**
 * The ranks are bytes in base64. They are decoded only here, because in most groups only one variant matches.
 */
const compareRanks = (a: string, b: string): number =>
  a === b ? 0 : Buffer.compare(Buffer.from(a, 'base64'), Buffer.from(b, 'base64'));

interface MatchingCandidate extends Candidate {
  /** The attributes without a value; the candidate is assumed to match by them. */
  readonly assumed?: readonly string[];
}

/**
 * @returns matching products in the order of the relation, with those without assumptions first. A product
 * may be repeated.
 */
const listMatching = (view: RelationView, query: SideSearch): Iterable<MatchingCandidate> =>
  query.index === undefined ? view.listCandidates(query) : listIndexed(view, query, query.index);

function* listIndexed(
  view: RelationView,
  query: SideSearch,
  index: RuleIndex,
): Generator<MatchingCandidate, void> {
  const { opposite } = query;
  const { strict, loose } = findProbes(index, opposite);
  const judge = createJudge(index, opposite);
  if (index.isExact) yield* listProbed(view, query, strict);
  else yield* listJudged(view, query, { probes: strict, judge, isAssumed: false });
  yield* listJudged(view, query, { probes: loose, judge, isAssumed: true });
}

function* listJudged(
  view: RelationView,
  query: SideSearch,
  { probes, judge, isAssumed }: { probes: readonly EncodedProbe[]; judge: Judge; isAssumed: boolean },
): Generator<MatchingCandidate, void> {
  for (const candidate of listProbed(view, query, probes)) {
    const judged = judgeCandidate(view, query, { ...candidate, judge });
    // A candidate that is not fetched yet counts as a match, because the result will be made again.
    if (judged === undefined || (judged.holds && judged.assumed.length > 0 === isAssumed))
      yield { ...candidate, assumed: judged?.assumed ?? [] };
  }
}

function listProbed(view: RelationView, query: SideSearch, probes: readonly EncodedProbe[]) {
  const isMerged = probes.length > 1;
  return mergeRanked(probes.map((probe) => view.listCandidates({ ...query, ...probe, isMerged })));
}

/** @returns how a candidate matches; undefined if the view has not fetched the values yet */
function judgeCandidate(
  view: RelationView,
  { build, side, excluded }: SideSearch,
  { productId, group, judge }: Candidate & { judge: Judge },
): PairJudgement | undefined {
  if (group === excluded) return { holds: false, assumed: [] };
  const variant = view.listVariants(group).find((groupVariant) => groupVariant.productId === productId);
  const member = variant && unpackMember(variant.packed, build, side);
  return member && judge(member);
}

/**
 * Finds the products that a list links with a product. Groups are in the order in which the list first names
 * one of their products. The products of a group are in the order of the list. Source: docs/interface §12.8.
 */
function searchListed(
  view: RelationView,
  { build, excludeSameGroup }: SearchedRelation,
  { identifier, limit, side }: SearchedProduct & { readonly side: Side },
): Omit<FoundGroups, 'matchType'> {
  // Requests both before it checks either, so that a view that fetches needs only one round.
  const linked = view.listLinked({ build, side, identifier });
  const upload = view.findUpload(identifier);
  if (upload === undefined || linked.length === 0) return { groups: [] };
  const excluded = excludeSameGroup ? (JSON.parse(upload.raw) as UploadedProduct).groupIdentifier : undefined;
  const others = linked.filter(
    ({ productId, group }) => productId !== upload.productId && group !== excluded,
  );
  const chosen = [...Map.groupBy(others, ({ group }) => group).values()].slice(0, limit);
  const groups = chosen.map((products) => products.map(({ productId }) => productId));
  // A list gives the quantity of a target for its source, but none in the other direction.
  const counted = side === 'source' ? [] : chosen.flat();
  const quantities = counted.flatMap(({ productId, quantity }): [number, number][] =>
    quantity === null ? [] : [[productId, quantity]],
  );
  return { groups, ...(quantities.length > 0 && { quantities: new Map(quantities) }) };
}

/** Related products of many products by identifier only, for callers that need no descriptions. */

export interface RelatedSearch {
  readonly relation: SearchedRelation;
  /** The most groups for each product. */
  readonly limit: number;
  /** `from`: the products that the product leads to, as in answers. `to`: the products that lead to it. */
  readonly direction: 'from' | 'to';
}

/** Identifiers, best first. A list of links adds the quantities that it gives for its source. */
export interface RelatedList {
  readonly identifiers: readonly string[];
  readonly quantities?: ReadonlyMap<string, number>;
}

/** @returns for each product and each requested relation, the best product of each related group */
export const listRelated = (
  view: RelationView,
  identifiers: readonly string[],
  requested: readonly RelatedSearch[],
): RelatedList[][] =>
  identifiers.map((identifier) =>
    view.once(`related ${identifier}`, () => {
      const source = view.findSource(identifier);
      return requested.map(({ relation, limit, direction }) => {
        const list = (side: Side) => listSide(view, relation, { identifier, source, limit, side });
        if (direction === 'to') return list('source');
        return findEitherWay(relation, list, ({ identifiers }) => identifiers.length > 0).results;
      });
    }),
  );

const NONE: RelatedList = { identifiers: [] };

function listSide(
  view: RelationView,
  relation: SearchedRelation,
  searched: SearchedProduct & { readonly side: Side },
): RelatedList {
  if (!relation.isListed) {
    const query = toSearch(relation, searched);
    if (query === undefined) return NONE;
    const nameOf = (candidate: Candidate) => candidate.identifier ?? view.findIdentifier(candidate.productId);
    return { identifiers: listBest(view, query).map(nameOf) };
  }
  const { groups, quantities } = searchListed(view, relation, searched);
  const best = groups.map(([first]) => first as number);
  const identifiers = best.map((productId) => view.findIdentifier(productId));
  if (quantities === undefined) return { identifiers };
  const listedQuantities = best.flatMap((productId, index): [string, number][] => {
    const quantity = quantities.get(productId);
    return quantity === undefined ? [] : [[identifiers[index] as string, quantity]];
  });
  return { identifiers, ...(listedQuantities.length > 0 && { quantities: new Map(listedQuantities) }) };
}
