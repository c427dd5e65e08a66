import { BoundedMap } from '../../kernel/bounded-map.ts';
import type { ListBasis, ShareLists } from './related-view.ts';

interface SharedList {
  readonly list: readonly unknown[];
  readonly weight: number;
  /** Whether making the list again would give the same result. */
  holds(): boolean;
  forget(): void;
}

/** The size of a list in bytes without its items. */
const LIST_BYTES = 200;

/** Lists that the products of a catalog share. One limit applies to all catalogs together. */
export class SharedLists {
  private readonly catalogs = new WeakMap<object, Map<string, SharedList>>();
  /** The lists of all catalogs as separate entries. */
  private readonly present: BoundedMap<SharedList, SharedList>;

  /** @param most the limit in bytes over all catalogs; sizes are approximate */
  constructor(most = 32 * 1024 * 1024) {
    this.present = new BoundedMap({
      most,
      weigh: ({ weight }) => weight,
      onEvict: (evicted) => evicted.forget(),
    });
  }

  /**
   * @param version an object that represents the version. It may also represent several versions; `watch`
   * then returns whether a list is still valid.
   */
  of(version: object, watch: (basis?: ListBasis) => () => boolean = () => () => true): ShareLists {
    const { present } = this;
    const lists = this.catalogs.getOrInsertComputed(version, () => new Map<string, SharedList>());
    return (key, make, { weigh, describe }) => {
      const cached = lists.get(key);
      if (cached?.holds()) return (present.get(cached) ?? cached).list as ReturnType<typeof make>;
      if (cached !== undefined) present.delete(cached);
      const list = make();
      const weight = list.reduce((sum, item) => sum + weigh(item), LIST_BYTES);
      const shared = { list, weight, holds: watch(describe?.(list)), forget: () => lists.delete(key) };
      lists.set(key, shared);
      present.set(shared, shared);
      return list;
    };
  }
}
