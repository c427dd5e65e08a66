import type { ListedProduct } from '@relata/client';

/** What a row of the table shows: a million whole products would fill the memory of the browser. */
export interface ProductRow {
  readonly identifier: string;
  readonly name: string;
  readonly group: string;
  readonly category: string;
  readonly image: string | undefined;
  readonly lastUpdateTs: number;
}

export function toRow(product: ListedProduct): ProductRow {
  return {
    identifier: product.identifier,
    name: product.name,
    group: product.groupIdentifier ?? '',
    category: (product.categories?.[0]?.path ?? []).join(' › '),
    image: pickImage(product),
    lastUpdateTs: product.lastUpdateTs,
  };
}

/** The smallest that there is. */
export function pickImage({ image, images }: Pick<ListedProduct, 'image' | 'images'>): string | undefined {
  const list = images ?? [];
  const small = list.find(({ type }) => type === 'THUMB') ?? list.find(({ type }) => type === 'SMALL');
  return small?.url ?? image ?? list[0]?.url;
}
