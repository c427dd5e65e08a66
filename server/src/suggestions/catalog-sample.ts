import { isBlank, type UploadedProduct } from '../catalog/catalog.ts';

/**
 * What the rules of suggestions look at: products with their values told apart, and the categories they are in. Bounded,
 * whatever the catalog: 50,000 products with 15 values each take about 60 MB.
 */

/** A value of one key, told apart from others. */
export interface SampledValue {
  readonly key: string;
  readonly text: string;
  /** Of products. */
  count: number;
  /** Of the first products with it. */
  readonly identifiers: string[];
}

export interface SampledProduct {
  readonly identifier: string;
  /** Each once. */
  readonly values: readonly SampledValue[];
  /** Each once: the paths of the product, and all that they begin with. */
  readonly categories: readonly SampledCategory[];
}

export interface SampledCategory {
  readonly path: readonly string[];
  /** Of products. */
  count: number;
  /** Whether the path of a product ends here. */
  isLeaf: boolean;
}

type SentProduct = Pick<UploadedProduct, 'identifier' | 'attributes' | 'categories'>;

const KEYS = 1_000;
const VALUES_OF_KEY = 2_000;
const VALUES = 200_000;
const VALUES_OF_PRODUCT = 200;
const CATEGORIES = 2_000;
/** Longer values are descriptions. */
const VALUE_LENGTH = 200;
const EXAMPLES = 5;

export class CatalogSample {
  readonly products: SampledProduct[] = [];
  private readonly keys = new Map<string, Map<string, SampledValue>>();
  private readonly byPath = new Map<string, SampledCategory>();
  private values = 0;

  add({ identifier, attributes, categories }: SentProduct): void {
    const values = new Set(
      attributes.slice(0, VALUES_OF_PRODUCT).flatMap((one) => this.findValue(one) ?? []),
    );
    for (const value of values) {
      value.count += 1;
      if (value.identifiers.length < EXAMPLES) value.identifiers.push(identifier);
    }
    const places = new Set(categories.flatMap(({ path }) => this.findCategories(path)));
    for (const category of places) category.count += 1;
    this.products.push({ identifier, values: [...values], categories: [...places] });
  }

  /** @returns the values of a key that are told apart */
  valuesOf(key: string): Iterable<SampledValue> {
    return this.keys.get(key)?.values() ?? [];
  }

  listKeys(): string[] {
    return [...this.keys.keys()];
  }

  listCategories(): SampledCategory[] {
    return [...this.byPath.values()];
  }

  private findValue({ key, value: text }: SentProduct['attributes'][number]): SampledValue | undefined {
    if (isBlank(text) || text.length > VALUE_LENGTH) return undefined;
    const ofKey = this.keys.get(key) ?? new Map<string, SampledValue>();
    const known = ofKey.get(text);
    if (known !== undefined) return known;
    const isFull = ofKey.size === 0 ? this.keys.size >= KEYS : ofKey.size >= VALUES_OF_KEY;
    if (isFull || this.values >= VALUES) return undefined;
    const added = { key, text, count: 0, identifiers: [] };
    this.keys.set(key, ofKey.set(text, added));
    this.values += 1;
    return added;
  }

  private findCategories(path: readonly string[]): SampledCategory[] {
    return path.flatMap((_, at) => {
      const start = path.slice(0, at + 1);
      const name = JSON.stringify(start);
      const known = this.byPath.get(name);
      const category = known ?? { path: start, count: 0, isLeaf: false };
      if (known === undefined) {
        if (this.byPath.size >= CATEGORIES) return [];
        this.byPath.set(name, category);
      }
      if (start.length === path.length) category.isLeaf = true;
      return category;
    });
  }
}
