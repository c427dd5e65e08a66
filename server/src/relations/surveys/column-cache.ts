import { BoundedMap } from '../../kernel/bounded-map.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import { CatalogColumns } from './catalog-columns.ts';
import type { TriedCatalog } from './surveyed-catalog.ts';
import { covers, readPages, type UploadWords } from './upload-pages.ts';

/** Over all catalogs; 66,778 products with 442,510 values take 19 MiB, counted as 24. Of a larger one each preview reads its rule's sides. */
export const MOST_BYTES = 64 * 1024 * 1024;
/** A catalog that has too many products. */
const MARK_BYTES = 200;
/** The author of a rule returns sooner than this. */
const IDLE_MS = 5 * 60_000;

interface CachedColumns {
  readonly version: number;
  /** Contains only products with one of these; undefined: all. */
  readonly words: UploadWords;
  /** Undefined if there are too many. */
  readonly columns: CatalogColumns | undefined;
}

/** The catalogs that rules were last tried on: reading 66,778 products takes half a second, looking at them in memory a tenth. */
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
   * @param words products without any of them may be left out
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
    const known = this.cached.peek(projectId);
    this.cached.delete(projectId);
    const isPresent = known?.version === version && known.columns !== undefined;
    // Otherwise a catalog that was too large once would be read up to the limit again and again.
    const isTooLarge = known !== undefined && known.columns === undefined && covers(words, known.words);
    const isUsable = isTooLarge || (isPresent && covers(known.words, words));
    // A second question about other products is seldom the last: it reads all, so that a third reads none.
    const found = isUsable
      ? known
      : await this.readAll(catalog, { version, words: isPresent ? undefined : words }, limit);
    this.cached.set(projectId, found);
    this.timer = setTimeout(() => this.cached.clear(), this.idleMs).unref();
    return found.columns;
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
