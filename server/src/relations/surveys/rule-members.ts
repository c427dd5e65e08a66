import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { Budget } from '../../storage/threads/threads.ts';
import type { StoredUpload } from '../matching/matching.ts';
import { type Membership, Memberships } from '../memberships/memberships.ts';
import type { BoundRule } from '../rules/rules.ts';
import { CatalogColumns } from './catalog-columns.ts';
import { MOST_BYTES } from './column-cache.ts';
import { TRIED_BUILD, type TriedCatalog } from './surveyed-catalog.ts';
import { listWords, readPages, UPLOADS_AT_ONCE } from './upload-pages.ts';

/**
 * A sample by keys needs this many of them. With fewer keys it would have only some kinds of products, so
 * products are sampled instead.
 */
const MANY_KEYS = 1_000;

/**
 * The products on the sides of one rule, with the values that it compares. If they take more than
 * `mostBytes`, a half, a quarter and so on are kept. They are chosen by their keys: products that match stay
 * together, so a source has the same results as in the whole catalog.
 */
export class RuleMembers {
  columns: CatalogColumns;
  /** The numbers of members in the whole catalog, even if the columns have only a part of them. */
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
    { limit, mostBytes = MOST_BYTES }: { limit: Budget; mostBytes?: number },
  ): Promise<RuleMembers> {
    const members = new RuleMembers(bound);
    for await (const page of readPages(catalog, listWords(bound.rule.source, bound.rule.target))) {
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
    const memberships = this.memberships.of(product);
    const keys = memberships.flatMap((membership) => membership.keys);
    if (this.every === 1 && this.keys.size < MANY_KEYS) for (const key of keys) this.keys.add(key);
    const names = this.keys.size < MANY_KEYS || keys.length === 0 ? [product.identifier] : keys;
    const isChosen = names.some((name) => hash(name) % this.every === 0);
    if (memberships.length > 0 && isChosen) this.columns.add(productId, product);
    return memberships;
  }

  private async halve({ findUploads }: Pick<TriedCatalog, 'findUploads'>, limit: Budget): Promise<void> {
    const before = this.columns;
    this.every *= 2;
    this.columns = new CatalogColumns(this.memberships.keys);
    for (let start = 0; start < before.count; start += UPLOADS_AT_ONCE) {
      limit.check();
      const length = Math.min(UPLOADS_AT_ONCE, before.count - start);
      const uploads = await findUploads(
        Array.from({ length }, (_, index) => before.identifierAt(start + index)),
      );
      for (const upload of uploads.toSorted((a, b) => a.productId - b.productId)) this.add(upload);
    }
  }
}

function hash(text: string): number {
  let hashed = 0;
  for (let index = 0; index < text.length; index += 1)
    hashed = (Math.imul(hashed, 31) + text.charCodeAt(index)) | 0;
  return hashed >>> 0;
}
