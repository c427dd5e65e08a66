import type { ProductRelation, RelationSide } from '@relata/client';

export type RelatedProduct = RelationSide['results'][number];
/** The variants of one group, the best first. */
export type Variants = readonly [RelatedProduct, ...RelatedProduct[]];

/** One direction of a relation from a product, with what it finds. */
export interface Way {
  readonly relation: ProductRelation;
  /** From the results to the products that have them. */
  readonly isBack: boolean;
  readonly groups: readonly Variants[];
}

/** @returns the directions in which a relation finds something, relation by relation */
export const listWays = (relations: readonly ProductRelation[]): Way[] =>
  relations
    .flatMap((relation) => [
      { relation, isBack: false, groups: foldVariants(relation.asSource) },
      { relation, isBack: true, groups: foldVariants(relation.asTarget) },
    ])
    .filter(({ groups }) => groups.length > 0);

function foldVariants(side: RelationSide | null): Variants[] {
  const groups = new Map<string, [RelatedProduct, ...RelatedProduct[]]>();
  for (const product of side?.results ?? []) {
    const known = groups.get(product.groupId);
    if (known) known.push(product);
    else groups.set(product.groupId, [product]);
  }
  return [...groups.values()];
}

/** @returns the relations that find nothing in either direction */
export const listIdle = (relations: readonly ProductRelation[]): ProductRelation[] =>
  relations.filter(({ asSource, asTarget }) => !asSource?.results.length && !asTarget?.results.length);
