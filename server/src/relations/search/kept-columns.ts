import { CatalogColumns } from './catalog-columns.ts';
import type { TriedCatalog } from './relation-survey.ts';
import type { WorkLimit } from './work-limit.ts';

/** Over all catalogs; 66,778 products with 442,510 values take 19 MiB, and count as 24. A larger catalog is read each time. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Somebody who writes a rule comes back sooner. */
const IDLE_MS = 5 * 60_000;
const PAGE = 1_000;

interface Kept {
  readonly version: number;
  /** Undefined: there is too much. */
  readonly columns: CatalogColumns | undefined;
}

/** The catalogs that rules were tried on last: to read 66,778 products takes a second, to look at them in memory a tenth. */
export class KeptColumns {
  private readonly mostBytes: number;
  private readonly idleMs: number;
  private readonly kept = new Map<number, Kept>();
  private timer: NodeJS.Timeout | undefined;

  constructor({ mostBytes = MOST_BYTES, idleMs = IDLE_MS } = {}) {
    this.mostBytes = mostBytes;
    this.idleMs = idleMs;
  }

  /** @returns the products of this state of the catalog; undefined when there is too much of them @throws search_too_long */
  async read(
    projectId: number,
    catalog: Pick<TriedCatalog, 'readVersion' | 'listUploads'>,
    limit: WorkLimit,
  ): Promise<CatalogColumns | undefined> {
    clearTimeout(this.timer);
    const version = await catalog.readVersion();
    const known = this.kept.get(projectId);
    this.kept.delete(projectId);
    // One that was too large once would be read to the bound for nothing again and again.
    const isUsable = known?.version === version || (known !== undefined && known.columns === undefined);
    const found = isUsable ? known : { version, columns: await this.readAll(catalog, limit) };
    this.kept.set(projectId, found);
    this.dropOldest();
    this.timer = setTimeout(() => this.kept.clear(), this.idleMs).unref();
    return found.columns;
  }

  private async readAll(
    catalog: Pick<TriedCatalog, 'listUploads'>,
    limit: WorkLimit,
  ): Promise<CatalogColumns | undefined> {
    const columns = new CatalogColumns();
    let page = await catalog.listUploads(0, PAGE);
    while (page.length > 0) {
      for (const upload of page) {
        limit.check();
        columns.add(upload);
      }
      if (columns.bytes > this.mostBytes) return undefined;
      page = await catalog.listUploads(page.at(-1)?.productId ?? 0, PAGE);
    }
    columns.end();
    return columns;
  }

  private dropOldest(): void {
    let bytes = 0;
    for (const [projectId, { columns }] of [...this.kept].reverse()) {
      bytes += columns?.bytes ?? 0;
      if (bytes > this.mostBytes) this.kept.delete(projectId);
    }
  }
}
