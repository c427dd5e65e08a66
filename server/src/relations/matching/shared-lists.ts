import type { ListBasis, ShareLists } from './related-view.ts';

interface SharedList {
  readonly list: readonly unknown[];
  readonly weight: number;
  isRequested: boolean;
  /** Whether it would be the same if it were made now. */
  holds(): boolean;
  forget(): void;
}

/**
 * Lists that products of a catalog share. When there are too many, the one that was made first is dropped,
 * but one that was requested since goes behind the others (CLOCK). `of`: an object that represents the version, or
 * those in which `watch` says of each list whether it holds.
 * @param most approximate bytes over all catalogs
 */
export function createSharedLists(most = 32 * 1024 * 1024): {
  of(version: object, watch?: (basis?: ListBasis) => () => boolean): ShareLists;
} {
  const catalogs = new WeakMap<object, Map<string, SharedList>>();
  const queue = new Set<SharedList>();
  // Stays at the first one: a new iterator would pass all places of dropped ones anew.
  const first = queue.values();
  let weight = 0;

  function makeRoom(added: number): void {
    while (weight + added > most && queue.size > 0) {
      const one = first.next().value as SharedList;
      queue.delete(one);
      if (one.isRequested) {
        one.isRequested = false;
        queue.add(one);
      } else {
        one.forget();
        weight -= one.weight;
      }
    }
  }

  return {
    of(version, watch = () => () => true) {
      const known = catalogs.getOrInsertComputed(version, () => new Map<string, SharedList>());
      return (key, make, { weigh, describe }) => {
        const found = known.get(key);
        if (found?.holds()) {
          found.isRequested = true;
          return found.list as ReturnType<typeof make>;
        }
        if (found !== undefined && queue.delete(found)) weight -= found.weight;
        const list = make();
        const added = list.reduce((sum, item) => sum + weigh(item), 200);
        makeRoom(added);
        weight += added;
        const holds = watch(describe?.(list));
        const shared = { list, weight: added, isRequested: false, holds, forget: () => known.delete(key) };
        known.set(key, shared);
        queue.add(shared);
        return list;
      };
    },
  };
}
