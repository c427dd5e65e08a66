import { StoredUpload } from '../../catalog/products/documents/documents.ts';
import type { CatalogPass } from '../../relations/relation-store/relation-store.ts';
import { UPLOADS_AT_ONCE } from '../../relations/surveys/surveys.ts';

export type ReadProduct = ReturnType<typeof toRead>;

export const toRead = ({ productId, raw }: { productId: number; raw: string }) => ({
  productId,
  upload: new StoredUpload(raw),
});

/** Finds products by identifier, each once. */
export async function* findPages(
  pass: CatalogPass,
  identifiers: readonly string[],
): AsyncGenerator<ReadProduct[]> {
  const all = [...new Set(identifiers)];
  for (let start = 0; start < all.length; start += UPLOADS_AT_ONCE)
    yield (await pass.findUploads(all.slice(start, start + UPLOADS_AT_ONCE))).map(toRead);
}

export const lastOf = (page: readonly ReadProduct[]): number => page.at(-1)?.productId ?? 0;
