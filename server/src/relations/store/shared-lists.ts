import type { CatalogRelations } from '../answers/answers.ts';
import type { ShareLists } from '../search/search.ts';

/** Bytes over all catalogs, about. */
const MOST = 32 * 1024 * 1024;

/** Lists that products of one version of a catalog share, in memory as long as there are few. */
export function createSharedLists(): { of(relations: CatalogRelations): ShareLists } {
  let catalogs = new WeakMap<CatalogRelations, Map<string, readonly unknown[]>>();
  let weight = 0;

  function keep(
    relations: CatalogRelations,
    key: string,
    kept: { list: readonly unknown[]; weight: number },
  ) {
    weight += kept.weight;
    if (weight > MOST) {
      catalogs = new WeakMap();
      weight = kept.weight;
    }
    const lists = catalogs.get(relations) ?? new Map<string, readonly unknown[]>();
    catalogs.set(relations, lists.set(key, kept.list));
  }

  return {
    of:
      (relations) =>
      <Item>(key: string, make: () => readonly Item[], weigh: (item: Item) => number) => {
        const known = catalogs.get(relations)?.get(key);
        if (known !== undefined) return known as readonly Item[];
        const list = make();
        keep(relations, key, { list, weight: list.reduce((sum, item) => sum + weigh(item), 200) });
        return list;
      },
  };
}
