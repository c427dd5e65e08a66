import type { UploadedProduct } from '../../catalog/catalog.ts';
import type { BoundRule } from '../definitions/definitions.ts';
import { type Membership, Memberships } from '../memberships/memberships.ts';
import { CatalogColumns } from './catalog-columns.ts';
import type { StoredUpload } from './related-view.ts';
import { TRIED_BUILD, type TriedCatalog } from './relation-survey.ts';
import type { WorkLimit } from './work-limit.ts';

/** Over all catalogs; 66,778 products with 442,510 values take 19 MiB, and count as 24. Of a larger one each preview reads the sides of its rule. */
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
    for await (const page of readPages(catalog)) {
      for (const { productId, raw } of page) {
        limit.check();
        columns.add(productId, JSON.parse(raw));
      }
      if (columns.bytes > this.mostBytes) return undefined;
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

async function* readPages(
  catalog: Pick<TriedCatalog, 'listUploads'>,
): AsyncGenerator<readonly StoredUpload[]> {
  let page = await catalog.listUploads(0, PAGE);
  while (page.length > 0) {
    yield page;
    page = await catalog.listUploads(page.at(-1)?.productId ?? 0, PAGE);
  }
}

/** With fewer keys a part of them would be a part of the kinds of products; then a part of the products is taken. */
const MANY_KEYS = 1_000;

/**
 * The products on the sides of one rule, with the values that it compares. Of sides that take more than `mostBytes` they
 * are a half, a quarter and so on, by the keys of products: those that match stay together, so a source has the same
 * results as in all of the catalog.
 */
export class RuleMembers {
  columns: CatalogColumns;
  /** All members of the catalog, whatever part of them the columns have. */
  readonly counts = { source: 0, target: 0 };
  private readonly memberships: Memberships;
  private readonly keys = new Set<string>();
  private every = 1;

  private constructor(bound: BoundRule) {
    this.memberships = new Memberships([{ build: TRIED_BUILD, bound }]);
    this.columns = new CatalogColumns(this.memberships.keys);
  }

  /** Reads the whole catalog. @throws search_too_long */
  static async read(
    catalog: Pick<TriedCatalog, 'listUploads' | 'findUploads'>,
    bound: BoundRule,
    { limit, mostBytes = MOST_BYTES }: { limit: WorkLimit; mostBytes?: number },
  ): Promise<RuleMembers> {
    const members = new RuleMembers(bound);
    for await (const page of readPages(catalog)) {
      for (const upload of page) {
        limit.check();
        for (const { side } of members.add(upload)) members.counts[side] += 1;
      }
      while (members.columns.bytes > mostBytes && members.columns.count > 1)
        await members.halve(catalog, limit);
    }
    members.columns.end();
    return members;
  }

  private add({ productId, raw }: StoredUpload): readonly Membership[] {
    const product = JSON.parse(raw) as UploadedProduct;
    const found = this.memberships.of(product);
    const keys = found.flatMap((one) => one.keys);
    if (this.every === 1 && this.keys.size < MANY_KEYS) for (const key of keys) this.keys.add(key);
    const names = this.keys.size < MANY_KEYS || keys.length === 0 ? [product.identifier] : keys;
    const isChosen = names.some((name) => hash(name) % this.every === 0);
    if (found.length > 0 && isChosen) this.columns.add(productId, product);
    return found;
  }

  private async halve({ findUploads }: Pick<TriedCatalog, 'findUploads'>, limit: WorkLimit): Promise<void> {
    const before = this.columns;
    this.every *= 2;
    this.columns = new CatalogColumns(this.memberships.keys);
    for (let place = 0; place < before.count; place += PAGE) {
      limit.check();
      const length = Math.min(PAGE, before.count - place);
      const uploads = await findUploads(Array.from({ length }, (_, at) => before.identifierAt(place + at)));
      for (const upload of uploads.toSorted((a, b) => a.productId - b.productId)) this.add(upload);
    }
  }
}

function hash(text: string): number {
  let hashed = 0;
  for (let at = 0; at < text.length; at += 1) hashed = (Math.imul(hashed, 31) + text.charCodeAt(at)) | 0;
  return hashed >>> 0;
}
