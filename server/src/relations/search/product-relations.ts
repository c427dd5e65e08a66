import type { UploadedProduct } from '../../catalog/catalog.ts';
import { describeBriefly } from '../../catalog/catalog.ts';
import type { Side } from '../definitions/definitions.ts';
import { compileRule, isListed } from '../definitions/definitions.ts';
import type { ServedRelation } from '../memberships/memberships.ts';
import { explainLinked } from './linked-explain.ts';
import { type SearchedRelation, searchSide } from './related-search.ts';
import type { RelationView } from './related-view.ts';
import { explainPair, type PairExplanation } from './relation-explain.ts';

/** What a product leads to and what leads to it, relation by relation, with the reason. Source: docs/interface.md §12.7. */

export interface ProductRelationsInput {
  readonly projectId: number;
  readonly identifier: string;
  /** Groups for each relation and direction. */
  readonly limit: number;
}

export interface ProductRelation {
  readonly id: number;
  /** What it leads to from the source side. */
  readonly asSource: ProductSide;
  /** What leads to it on the target side. */
  readonly asTarget: ProductSide;
}

interface ProductSide {
  /** Whether the product stands on this side. */
  readonly stands: boolean;
  /** Best first; several of a group stand together. */
  readonly results: readonly RelatedProduct[];
}

type RelatedProduct = ReturnType<typeof describeBriefly> & { readonly explain: PairExplanation };

const OPPOSITE: Readonly<Record<Side, Side>> = { source: 'target', target: 'source' };

/** As the search has it: for a view that fetches what will be looked for. */
export function toSearched({ build, bound, definition, excludeSameGroup }: ServedRelation): SearchedRelation {
  const operators = compileRule(bound).comparisons.map(({ operator }) => operator);
  // Both ways are looked for, whatever the relation answers: that is what a two-way one does where it finds nothing.
  return { build, isListed: isListed(definition), twoWay: true, excludeSameGroup, operators };
}

/** @returns undefined when the product is not there */
export function relateProduct(
  view: RelationView,
  relation: ServedRelation,
  { identifier, limit }: ProductRelationsInput,
): ProductRelation | undefined {
  const upload = view.findUpload(identifier);
  if (upload === undefined) return undefined;
  const product = JSON.parse(upload.raw) as UploadedProduct;
  const source = view.findSource(identifier);
  const searched = toSearched(relation);

  const describeSide = (side: Side): ProductSide => {
    const across = OPPOSITE[side];
    const stands = searched.isListed
      ? view.listLinked({ build: searched.build, side: across, identifier }).length > 0
      : (source?.memberships.some((one) => one.build === searched.build && one.side === side) ?? false);
    const groups = stands ? searchSide(view, searched, { identifier, source, limit, side: across }) : [];
    const explain = (productId: number, other: UploadedProduct) => {
      if (searched.isListed) {
        const matchType = side === 'source' ? 'FIRST_WAY' : 'SECOND_WAY';
        return explainLinked(view, { build: searched.build, identifier, productId, matchType });
      }
      const pair =
        side === 'source' ? { source: product, target: other } : { source: other, target: product };
      return explainPair(relation.bound, pair);
    };
    const results = groups.flat().flatMap((productId) => {
      const raw = view.findRaw(productId);
      if (raw === undefined) return [];
      const other = JSON.parse(raw) as UploadedProduct;
      return [{ ...describeBriefly(other), explain: explain(productId, other) }];
    });
    return { stands, results };
  };
  return { id: relation.id, asSource: describeSide('source'), asTarget: describeSide('target') };
}
