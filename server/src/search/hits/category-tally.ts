import { mainCategory, type UploadedProduct } from '../../catalog/products/products.ts';

export interface CountedCategory {
  readonly path: readonly string[];
  readonly count: number;
}

/** Counts the main categories of hits, with their ancestors. */
export class CategoryTally {
  private readonly counts = new Map<string, { path: readonly string[]; count: number }>();

  add({ categories }: Pick<UploadedProduct, 'categories'>): void {
    const path = mainCategory(categories)?.path ?? [];
    for (let depth = 1; depth <= path.length; depth += 1) {
      const above = path.slice(0, depth);
      this.counts.getOrInsertComputed(JSON.stringify(above), () => ({ path: above, count: 0 })).count += 1;
    }
  }

  list(): readonly CountedCategory[] {
    return [...this.counts.values()].sort((a, b) => b.count - a.count);
  }
}

/** @returns paths as JSON, which the catalog uses to find their ids */
export function listMainPaths(products: Iterable<{ readonly product: UploadedProduct }>): string[] {
  const paths = new Set<string>();
  for (const { product } of products) {
    const main = mainCategory(product.categories);
    if (main !== undefined) paths.add(JSON.stringify(main.path));
  }
  return [...paths];
}
