/** What goes with many products, by identifier alone: for whoever hands it on and describes nothing. */
import { type SearchedRelation, searchRelated, searchSide } from './related-search.ts';
import type { RelationView } from './related-view.ts';

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
        const groups =
          direction === 'from'
            ? searchRelated(view, relation, asked).groups
            : searchSide(view, relation, { ...asked, side: 'source' });
        return groups.flatMap(([best]) => (best === undefined ? [] : [view.findIdentifier(best)]));
      });
    }),
  );
}
