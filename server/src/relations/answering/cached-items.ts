import type { RelationView } from '../matching/matching.ts';
import type { RelateInput } from './relate-request.ts';

type ItemLook = Pick<RelateInput, 'form' | 'brandAttribute'>;

interface CachedItem {
  readonly text: string;
  /** The document from which the item was made. */
  readonly document: number | undefined;
  /** The last catalog version for which the document was checked. */
  version: number;
}

const MOST = 20_000;

/**
 * Items of products that many other products lead to, for one ontology. A new catalog version leaves most
 * documents unchanged. Checking a document takes a twentieth of the time of making an item.
 */
export class CachedItems {
  private readonly looks = new Map<string, Map<number, CachedItem>>();
  private count = 0;

  countOf(look: ItemLook): number {
    return this.of(look).size;
  }

  /** @param now without `findDocument`, items are valid only for their own catalog version */
  find(
    look: ItemLook,
    productId: number,
    now: { version: number; findDocument: RelationView['findDocument'] },
  ): string | undefined {
    const cached = this.of(look).get(productId);
    if (cached === undefined || cached.version === now.version) return cached?.text;
    const document = now.findDocument?.(productId);
    if (document === undefined || document !== cached.document) return undefined;
    cached.version = now.version;
    return cached.text;
  }

  keep(look: ItemLook, productId: number, item: CachedItem): void {
    if (this.count >= MOST) {
      this.looks.clear();
      this.count = 0;
    }
    const items = this.of(look);
    if (!items.has(productId)) this.count += 1;
    items.set(productId, item);
  }

  private of({ form, brandAttribute }: ItemLook): Map<number, CachedItem> {
    const key = `${form} ${brandAttribute}`;
    return this.looks.getOrInsertComputed(key, () => new Map<number, CachedItem>());
  }
}
