/** What goes with many products, by identifier alone: for whoever hands it on and describes nothing. */
import type { Side } from '../definitions/definitions.ts';
import { searchLinked } from './linked-search.ts';
import { describeWanted, type SearchedProduct, type SearchedRelation, toWanted } from './related-search.ts';
import type { Candidate, FoundSource, RelationView, Wanted } from './related-view.ts';

export interface WantedRelated {
  readonly relation: SearchedRelation;
  /** Groups for each product. */
  readonly limit: number;
  /** `from`: what the product leads to, as answers have it. `to`: the products that lead to it. */
  readonly direction: 'from' | 'to';
}

/** @returns for each product and each relation wanted the best product of each related group, best first */
export function listRelated(
  view: RelationView,
  identifiers: readonly string[],
  wanted: readonly WantedRelated[],
): (readonly string[])[][] {
  return identifiers.map((identifier) =>
    view.once(`related ${identifier}`, () => {
      const source = view.findSource(identifier);
      return wanted.map(({ relation, limit, direction }) => {
        const asked = { identifier, source, limit };
        if (direction === 'to') return listBest(view, relation, { ...asked, side: 'source' });
        const there = listBest(view, relation, { ...asked, side: 'target' });
        if (there.length > 0 || !relation.twoWay) return there;
        return listBest(view, relation, { ...asked, side: 'source' });
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
  const query = source && toWanted(relation, { source, limit, side });
  if (query === undefined) return [];
  if (view.share === undefined) return nameBest(view, view.listCandidates(query), { source, query });
  const first = view.share(`first ${describeWanted(query)}`, () => [listFirst(view, query)], weighFirst)[0];
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

function listFirst(view: RelationView, query: Wanted): FirstCandidates {
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

/** @returns the identifiers of the first candidate of each group, of as many groups as are wanted */
function nameBest(
  view: RelationView,
  candidates: Iterable<NamedCandidate>,
  { source, query: { excluded, limit } }: { source: FoundSource | undefined; query: Wanted },
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
