import { describeBriefly } from '../../catalog/browse/browse.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { ServedRelation } from '../memberships/memberships.ts';
import type { Side } from '../relation-definitions/relation-definitions.ts';
import { searchSide } from './related-search.ts';
import type { RelationView } from './related-view.ts';
import { explainFound } from './relation-explain.ts';

/** The results of a product on each side of each relation, with the reasons. Source: docs/interface §12.7. */

export interface ProductRelationsInput {
  readonly projectId: number;
  readonly identifier: string;
  /** The most groups for each relation and direction. */
  readonly limit: number;
  readonly locale: string;
}

export type ProductRelation = NonNullable<ReturnType<typeof relateProduct>>;

/** @returns undefined if the product does not exist */
export function relateProduct(
  view: RelationView,
  relation: ServedRelation,
  { identifier, limit, locale }: ProductRelationsInput,
) {
  const upload = view.findUpload(identifier);
  if (upload === undefined) return undefined;
  const product = JSON.parse(upload.raw) as UploadedProduct;
  const source = view.findSource(identifier);
  /** The results are best first, and variants of one group follow each other. */
  const describeSide = (side: Side) => {
    const across = side === 'source' ? 'target' : 'source';
    const matchType = side === 'source' ? 'FIRST_WAY' : 'SECOND_WAY';
    const { build, isListed } = relation;
    const isOnSide = isListed
      ? view.listLinked({ build, side: across, identifier }).length > 0
      : (source?.memberships.some((membership) => membership.build === build && membership.side === side) ??
        false);
    const groups = isOnSide
      ? searchSide(view, relation, { identifier, source, limit, side: across }).groups
      : [];
    const results = groups.flat().flatMap((productId) => {
      const raw = view.findRaw(productId);
      if (raw === undefined) return [];
      const result = JSON.parse(raw) as UploadedProduct;
      const explain = explainFound(view, relation, {
        requested: product,
        result,
        productId,
        matchType,
        locale,
      });
      return [{ ...describeBriefly(result), explain }];
    });
    return { stands: isOnSide, results };
  };
  return { id: relation.id, asSource: describeSide('source'), asTarget: describeSide('target') };
}
