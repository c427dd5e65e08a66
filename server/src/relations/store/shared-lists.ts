import type { ShareLists } from '../search/search.ts';

/** Bytes over all catalogs, about. */
const MOST = 32 * 1024 * 1024;

/**
 * Lists that products of one version of a catalog share, in memory as long as there are few. `of`: an object that stands for
 * the version.
 */
export function createSharedLists(most = MOST): { of(version: object): ShareLists } {
  let catalogs = new WeakMap<object, Map<string, readonly unknown[]>>();
  let weight = 0;

  function keep(version: object, key: string, kept: { list: readonly unknown[]; weight: number }) {
    weight += kept.weight;
    if (weight > most) {
      catalogs = new WeakMap();
      weight = kept.weight;
    }
    const lists = catalogs.get(version) ?? new Map<string, readonly unknown[]>();
    catalogs.set(version, lists.set(key, kept.list));
  }

  return {
    of:
      (version) =>
      <Item>(key: string, make: () => readonly Item[], weigh: (item: Item) => number) => {
        const known = catalogs.get(version)?.get(key);
        if (known !== undefined) return known as readonly Item[];
        const list = make();
        keep(version, key, { list, weight: list.reduce((sum, item) => sum + weigh(item), 200) });
        return list;
      },
  };
}
