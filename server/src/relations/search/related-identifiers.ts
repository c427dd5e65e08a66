/** What goes with many products, by identifier alone: for whoever hands it on and describes nothing. */
import type { Side } from '../definitions/definitions.ts';
import { searchLinked } from './linked-search.ts';
import { describeWanted, type SearchedProduct, type SearchedRelation, toWanted } from './related-search.ts';
import type { Candidate, RelationView, Wanted } from './related-view.ts';

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
): string[] {
  if (relation.isListed) {
    const groups = searchLinked(view, relation, { identifier, limit, side });
    return groups.map(([best]) => view.findIdentifier(best as number));
  }
  const query = source && toWanted(relation, { source, limit, side });
  if (query === undefined) return [];
  const best = new Map<string, string>();
  for (const { productId, group, identifier: known } of listFirst(view, query)) {
    if (productId === source?.productId || group === query.excluded || best.has(group)) continue;
    best.set(group, known ?? view.findIdentifier(productId));
    if (best.size === limit) break;
  }
  return [...best.values()];
}

interface FirstCandidate extends Candidate {
  readonly identifier?: string;
}

/** Bytes of a candidate in a shared list, with its texts. */
const CANDIDATE_BYTES = 150;

/** @returns candidates that contain the best ones, whichever product with these values asks */
function listFirst(view: RelationView, query: Wanted): Iterable<FirstCandidate> {
  if (view.share === undefined) return view.listCandidates(query);
  const all = { ...query, limit: query.limit + 1, excluded: undefined };
  const make = () =>
    takeFirst(view.listCandidates(all), all.limit).map(
      ({ productId, group }): FirstCandidate => ({
        ...{ productId, group },
        identifier: view.findIdentifier(productId),
      }),
    );
  return view.share(`first ${describeWanted(query)}`, make, () => CANDIDATE_BYTES);
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
