import type { RelatedList } from '../../relations/matching/matching.ts';
import type { CatalogPass } from '../../relations/relation-store/relation-store.ts';
import { findPages, type ReadProduct } from './catalog-pages.ts';

/** The groups of products, for a format that has only groups. */
export class GroupNames {
  readonly #pass: CatalogPass;
  readonly #taken = new Set<string>();
  /** The groups of the products that were read last, by the identifier of the product. */
  #groups = new Map<string, string>();

  constructor(pass: CatalogPass) {
    this.#pass = pass;
  }

  /** @returns the first product of each group that has not occurred before */
  takeFirst(products: readonly ReadProduct[]): ReadProduct[] {
    const taken = this.#taken;
    return products.filter(({ upload: { groupIdentifier } }) => taken.size < taken.add(groupIdentifier).size);
  }

  async read(identifiers: readonly string[]): Promise<void> {
    this.#groups = new Map();
    for await (const page of findPages(this.#pass, identifiers))
      for (const { upload } of page) this.#groups.set(upload.identifier, upload.groupIdentifier);
  }

  nameAll(lists: readonly RelatedList[]): RelatedList[] {
    return lists.map(({ identifiers }) => ({
      identifiers: [...new Set(identifiers.map((identifier) => this.#groups.get(identifier) ?? identifier))],
    }));
  }
}
