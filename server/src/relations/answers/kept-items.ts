import type { AnswerForm } from './related-items.ts';

/** What an item looks like besides its product. */
interface ItemLook {
  readonly form: AnswerForm;
  readonly brandAttribute: string;
}

interface KeptItem {
  readonly text: string;
  /** That it was made of. */
  readonly document: number | undefined;
  /** Of the catalog: the last one in which the product was found to have this document. */
  version: number;
}

/** How the document of a product is found; undefined: nobody can tell, and nothing outlives its version of the catalog. */
type FindDocument = ((productId: number) => number | undefined) | undefined;

const MOST = 20_000;

/**
 * Items of products that many others lead to, of one ontology. A new version of the catalog leaves most documents as they
 * were, and looking that up takes a twentieth of making an item.
 */
export class KeptItems {
  private readonly looks = new Map<string, Map<number, KeptItem>>();
  private count = 0;

  /** How many there are of a look. */
  countOf(look: ItemLook): number {
    return this.of(look).size;
  }

  find(
    look: ItemLook,
    productId: number,
    now: { version: number; findDocument: FindDocument },
  ): string | undefined {
    const kept = this.of(look).get(productId);
    if (kept === undefined || kept.version === now.version) return kept?.text;
    const document = now.findDocument?.(productId);
    if (document === undefined || document !== kept.document) return undefined;
    kept.version = now.version;
    return kept.text;
  }

  keep(look: ItemLook, productId: number, item: KeptItem): void {
    if (this.count >= MOST) {
      this.looks.clear();
      this.count = 0;
    }
    const items = this.of(look);
    if (!items.has(productId)) this.count += 1;
    items.set(productId, item);
  }

  private of({ form, brandAttribute }: ItemLook): Map<number, KeptItem> {
    const key = `${form} ${brandAttribute}`;
    const items = this.looks.get(key) ?? new Map<number, KeptItem>();
    this.looks.set(key, items);
    return items;
  }
}
