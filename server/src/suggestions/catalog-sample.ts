import {
  type Comparable,
  type ComparedAttribute,
  readComparable,
  toCompared,
} from '../catalog/filters/filters.ts';
import { type Attribute, indexByKey, isBlank, type Ontology } from '../catalog/ontology/ontology.ts';
import type { UploadedProduct } from '../catalog/products/products.ts';

/**
 * The sample that the rules of suggestions examine: products with their distinct values and their categories.
 * Its size is bounded for any catalog: 20,000 products with 15 values each take about 25 MB.
 */

/** A distinct value of one key. */
export interface SampledValue {
  readonly key: string;
  readonly text: string;
  /** The number of products with this value. */
  count: number;
  /** The first products with this value. */
  readonly identifiers: string[];
}

interface SampledProduct {
  readonly identifier: string;
  /** The distinct values of the product. */
  readonly values: readonly SampledValue[];
  /** The paths of the product and all their prefixes, without repetition. */
  readonly categories: readonly SampledCategory[];
}

interface SampledCategory {
  readonly path: readonly string[];
  /** The number of products in the category. */
  count: number;
  /** Whether the path of a product ends at this category. */
  isLeaf: boolean;
}

type SentProduct = Pick<UploadedProduct, 'identifier' | 'attributes' | 'categories'>;

const KEYS = 1_000;
const VALUES_OF_KEY = 2_000;
const VALUES = 200_000;
const VALUES_OF_PRODUCT = 200;
const CATEGORIES = 2_000;
/** Longer values are ignored, because they are descriptions. */
const VALUE_LENGTH = 200;
const EXAMPLES = 5;

export class CatalogSample {
  readonly products: SampledProduct[] = [];
  /** For each key its distinct values, by their texts. */
  readonly keys = new Map<string, Map<string, SampledValue>>();
  readonly byPath = new Map<string, SampledCategory>();
  private values = 0;

  add({ identifier, attributes, categories }: SentProduct): void {
    const values = new Set(
      attributes.slice(0, VALUES_OF_PRODUCT).flatMap((attribute) => this.findValue(attribute) ?? []),
    );
    for (const value of values) {
      value.count += 1;
      if (value.identifiers.length < EXAMPLES) value.identifiers.push(identifier);
    }
    const ownCategories = new Set(categories.flatMap(({ path }) => this.findCategories(path)));
    for (const category of ownCategories) category.count += 1;
    this.products.push({ identifier, values: [...values], categories: [...ownCategories] });
  }

  private findValue({ key, value: text }: SentProduct['attributes'][number]): SampledValue | undefined {
    if (isBlank(text) || text.length > VALUE_LENGTH) return undefined;
    const ofKey = this.keys.get(key) ?? new Map<string, SampledValue>();
    const cached = ofKey.get(text);
    if (cached !== undefined) return cached;
    const isFull = ofKey.size === 0 ? this.keys.size >= KEYS : ofKey.size >= VALUES_OF_KEY;
    if (isFull || this.values >= VALUES) return undefined;
    const added = { key, text, count: 0, identifiers: [] };
    this.keys.set(key, ofKey.set(text, added));
    this.values += 1;
    return added;
  }

  private findCategories(path: readonly string[]): SampledCategory[] {
    return path.flatMap((_, level) => {
      const start = path.slice(0, level + 1);
      const name = JSON.stringify(start);
      const cached = this.byPath.get(name);
      const category = cached ?? { path: start, count: 0, isLeaf: false };
      if (cached === undefined) {
        if (this.byPath.size >= CATEGORIES) return [];
        this.byPath.set(name, category);
      }
      if (start.length === path.length) category.isLeaf = true;
      return category;
    });
  }
}

/** The sample by categories and attributes, with values in the form in which relations compare them. */

export interface ComparedProduct {
  readonly identifier: string;
  /** The values by attribute. */
  readonly values: ReadonlyMap<Attribute, readonly ComparedValue[]>;
}

export interface ComparedValue {
  readonly text: string;
  readonly comparable: Comparable;
}

export interface Category {
  readonly path: readonly string[];
  readonly isLeaf: boolean;
  readonly products: readonly ComparedProduct[];
  /** For each attribute, the number of products with each value. */
  readonly values: ReadonlyMap<Attribute, ValueCounts>;
  /** The number of products shared with each other category, by its path. Includes the category itself. */
  readonly shared: ReadonlyMap<readonly string[], number>;
}

interface ValueCounts {
  /** The number of products with any value. */
  products: number;
  readonly byValue: Map<Comparable, number>;
}

/** A category with fewer products is not evidence. */
const PRODUCTS_OF_CATEGORY = 10;
/** Only this many of the largest categories are compared in pairs. */
const COMPARED_CATEGORIES = 150;
/** A category with a larger share of the products counts as the whole shop. */
const WHOLE_SHOP = 0.8;

/** @returns the largest categories first */
export function listCategories(sample: CatalogSample, ontology: Ontology): Category[] {
  const chosen = new Map(chooseCategories(sample).map((category) => [category, newCategory(category)]));
  const compare = createComparison(ontology);
  for (const product of sample.products) {
    const compared = compare(product);
    const categories = product.categories.flatMap((category) => chosen.get(category) ?? []);
    for (const category of categories) {
      category.products.push(compared);
      countValues(category, compared);
      for (const { path } of categories) category.shared.set(path, (category.shared.get(path) ?? 0) + 1);
    }
  }
  return [...chosen.values()];
}

function chooseCategories(sample: CatalogSample): SampledCategory[] {
  const isShown = ({ count }: SampledCategory) =>
    count >= PRODUCTS_OF_CATEGORY && count <= WHOLE_SHOP * sample.products.length;
  return [...sample.byPath.values()]
    .filter(isShown)
    .sort((a, b) => b.count - a.count || (JSON.stringify(a.path) < JSON.stringify(b.path) ? -1 : 1))
    .slice(0, COMPARED_CATEGORIES);
}

const newCategory = ({ path, isLeaf }: SampledCategory) => ({
  path,
  isLeaf,
  products: [] as ComparedProduct[],
  values: new Map<Attribute, ValueCounts>(),
  shared: new Map<readonly string[], number>(),
});

function countValues({ values }: ReturnType<typeof newCategory>, product: ComparedProduct): void {
  for (const [attribute, comparedValues] of product.values) {
    const counts = values.getOrInsertComputed(attribute, () => ({ products: 0, byValue: new Map() }));
    counts.products += 1;
    for (const { comparable } of comparedValues)
      counts.byValue.set(comparable, (counts.byValue.get(comparable) ?? 0) + 1);
  }
}

/** Each value is read only once, however many products have it. */
function createComparison({ attributes }: Ontology): (product: SampledProduct) => ComparedProduct {
  const byKey = indexByKey(attributes);
  const compared = new Map(attributes.map((attribute) => [attribute, toCompared(attribute, [])]));
  const read = new Map<SampledValue, ComparedValue | undefined>();
  const readOnce = (value: SampledValue, attribute: ComparedAttribute) => {
    if (!read.has(value)) {
      const comparable = readComparable(value.text, attribute);
      read.set(value, comparable === undefined ? undefined : { text: value.text, comparable });
    }
    return read.get(value);
  };
  return ({ identifier, values }) => {
    const byAttribute = new Map<Attribute, ComparedValue[]>();
    for (const value of values) {
      const attribute = byKey.get(value.key);
      const rule = attribute && compared.get(attribute);
      const comparedValue = rule && readOnce(value, rule);
      if (attribute === undefined || comparedValue === undefined) continue;
      byAttribute.getOrInsertComputed(attribute, () => []).push(comparedValue);
    }
    return { identifier, values: byAttribute };
  };
}
