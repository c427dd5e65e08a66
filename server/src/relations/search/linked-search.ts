import type { UploadedProduct } from '../../catalog/catalog.ts';
import type { Side } from '../definitions/definitions.ts';
import type { RelationView } from './related-view.ts';

/**
 * Finds what a product is listed with: groups in the order in which the list first names one of their products, in each
 * of them its products in that order. Source: docs/interface.md §12.8.
 */
export function searchLinked(
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
