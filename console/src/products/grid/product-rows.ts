import type { Product, TableProduct } from '@relata/client';

/** The contents of a table row. It is as flat as possible, because there may be half a million rows. */
export interface ProductRow {
  readonly identifier: string;
  readonly name: string;
  readonly group: string;
  readonly category: string;
  readonly image: string | undefined;
  readonly lastUpdateTs: number;
}

export const toRow = ({
  identifier,
  name,
  groupId,
  category,
  thumbnail,
  lastUpdateTs,
}: TableProduct): ProductRow => ({
  identifier,
  name,
  group: groupId,
  category: category.join(' › '),
  image: thumbnail || undefined,
  lastUpdateTs,
});

/** @returns the URL of the first LARGE image, or else the first. Source: docs/interface §12.5 rule 8 */
export const findMainImage = (images: Product['images']): string | undefined =>
  (images.find(({ type }) => type === 'LARGE') ?? images[0])?.url;

/** The facts of a product by attribute name, several joined by commas. */
export type Values = Readonly<Record<string, string>>;

export function toValues({ facts }: Pick<Product, 'facts'>): Values {
  // Without inherited members, because an attribute may be called `constructor`.
  const values: Record<string, string> = Object.create(null);
  for (const { attribute, value } of facts) {
    const before = values[attribute];
    values[attribute] = before === undefined ? value : `${before}, ${value}`;
  }
  return values;
}

interface RowPage {
  readonly rows: readonly ProductRow[];
}

/** Pages of a list, read as one; a page may be shorter than requested. */
export interface RowBook {
  readonly count: number;
  getRow(index: number): ProductRow | undefined;
}

export function bindPages(pages: readonly RowPage[]): RowBook {
  const starts: number[] = [];
  let count = 0;
  for (const { rows } of pages) {
    starts.push(count);
    count += rows.length;
  }
  return {
    count,
    getRow(index) {
      const pageIndex = findPage(starts, index);
      return pages[pageIndex]?.rows[index - (starts[pageIndex] ?? 0)];
    },
  };
}

/** @returns the last page that begins at or before the row; an empty page begins with the next one */
function findPage(starts: readonly number[], index: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= index) low = middle;
    else high = middle - 1;
  }
  return low;
}
