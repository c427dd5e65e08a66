import { BoundedMap } from '../../kernel/bounded-map.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import { CatalogColumns } from './catalog-columns.ts';
import type { TriedCatalog } from './surveyed-catalog.ts';
import { covers, readPages, type UploadWords } from './upload-pages.ts';

/**
 * The limit over all catalogs. 66,778 products with 442,510 values take 19 MiB and count as 24. For a catalog
 * beyond the limit, each preview reads the sides of its rule.
 */
export const MOST_BYTES = 64 * 1024 * 1024;
/** The counted size of a catalog that is too large. The cache stores only the fact that it is too large. */
const MARK_BYTES = 200;
/** The author of a rule usually tries it again sooner than this. */
const IDLE_MS = 5 * 60_000;

interface CachedColumns {
  readonly version: number;
  /** The columns contain only products with one of these words; undefined means all products. */
  readonly words: UploadWords;
  /** Undefined if the catalog is too large. */
  readonly columns: CatalogColumns | undefined;
}

/**
 * Caches the catalogs that rules were last tried on. Reading 66,778 products takes half a second; trying a
 * rule on them in memory takes a tenth of that.
 */
export class ColumnCache {
  private readonly mostBytes: number;
  private readonly idleMs: number;
  private readonly cached: BoundedMap<number, CachedColumns>;
  private timer: NodeJS.Timeout | undefined;

  constructor({ mostBytes = MOST_BYTES, idleMs = IDLE_MS } = {}) {
    this.mostBytes = mostBytes;
    this.idleMs = idleMs;
    this.cached = new BoundedMap({ most: mostBytes, weigh: ({ columns }) => columns?.bytes ?? MARK_BYTES });
  }

  /**
   * @param words products without any of these words may be omitted
   * @returns the products of this state of the catalog; undefined if there are too many
   * @throws search_too_long
   */
  async read(
    projectId: number,
    catalog: Pick<TriedCatalog, 'version' | 'listUploads'>,
    { limit, words }: { readonly limit: Budget; readonly words?: UploadWords },
  ): Promise<CatalogColumns | undefined> {
    clearTimeout(this.timer);
    const { version } = catalog;
    const cached = this.cached.peek(projectId);
    this.cached.delete(projectId);
    const isPresent = cached?.version === version && cached.columns !== undefined;
    // Remembers that a catalog is too large. Otherwise every preview would read it up to the limit in vain.
    const isTooLarge = cached !== undefined && cached.columns === undefined && covers(words, cached.words);
    const isUsable = isTooLarge || (isPresent && covers(cached.words, words));
    // A second question about other products is seldom the last. It reads all products, so that further
    // questions read none.
    const current = isUsable
      ? cached
      : await this.readAll(catalog, { version, words: isPresent ? undefined : words }, limit);
    this.cached.set(projectId, current);
    this.timer = setTimeout(() => this.cached.clear(), this.idleMs).unref();
    return current.columns;
  }

  private async readAll(
    catalog: Pick<TriedCatalog, 'listUploads'>,
    state: Omit<CachedColumns, 'columns'>,
    limit: Budget,
  ): Promise<CachedColumns> {
    const columns = new CatalogColumns();
    for await (const page of readPages(catalog, state.words)) {
      for (const { productId, raw } of page) {
        limit.check();
        columns.add(productId, JSON.parse(raw));
      }
      if (columns.bytes > this.mostBytes) return { ...state, columns: undefined };
    }
    columns.end();
    return { ...state, columns };
  }
}
