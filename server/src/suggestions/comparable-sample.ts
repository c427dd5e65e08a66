import {
  type Attribute,
  type Comparable,
  type ComparedAttribute,
  indexByKey,
  type Ontology,
  readComparable,
  toCompared,
} from '../catalog/catalog.ts';
import type { CatalogSample, SampledCategory, SampledProduct, SampledValue } from './catalog-sample.ts';

/** The sample by categories and attributes, as relations compare values. */

export interface ComparedProduct {
  readonly identifier: string;
  /** By attribute. */
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
  /** By attribute, how many products have each value. */
  readonly values: ReadonlyMap<Attribute, ValueCounts>;
  /** Products that it shares with another category, and with itself. */
  readonly shared: ReadonlyMap<readonly string[], number>;
}

export interface ValueCounts {
  /** With any value. */
  products: number;
  readonly byValue: Map<Comparable, number>;
}

/** Fewer products show nothing. */
const PRODUCTS_OF_CATEGORY = 10;
/** The largest; their pairs are compared. */
const CATEGORIES = 150;
/** A category with more of the products is all of the shop. */
const WHOLE_SHOP = 0.8;

/** @returns the largest categories first */
export function listCategories(sample: CatalogSample, ontology: Ontology): Category[] {
  const chosen = new Map(chooseCategories(sample).map((one) => [one, newCategory(one)]));
  const compare = createComparison(ontology);
  for (const product of sample.products) {
    const compared = compare(product);
    const its = product.categories.flatMap((one) => chosen.get(one) ?? []);
    for (const category of its) {
      category.products.push(compared);
      countValues(category, compared);
      for (const { path } of its) category.shared.set(path, (category.shared.get(path) ?? 0) + 1);
    }
  }
  return [...chosen.values()];
}

function chooseCategories(sample: CatalogSample): SampledCategory[] {
  const isShown = ({ count }: SampledCategory) =>
    count >= PRODUCTS_OF_CATEGORY && count <= WHOLE_SHOP * sample.products.length;
  return sample
    .listCategories()
    .filter(isShown)
    .sort((a, b) => b.count - a.count || (JSON.stringify(a.path) < JSON.stringify(b.path) ? -1 : 1))
    .slice(0, CATEGORIES);
}

const newCategory = ({ path, isLeaf }: SampledCategory) => ({
  ...{ path, isLeaf, products: [] as ComparedProduct[] },
  values: new Map<Attribute, ValueCounts>(),
  shared: new Map<readonly string[], number>(),
});

function countValues({ values }: ReturnType<typeof newCategory>, product: ComparedProduct): void {
  for (const [attribute, its] of product.values) {
    const counts = values.get(attribute) ?? { products: 0, byValue: new Map<Comparable, number>() };
    values.set(attribute, counts);
    counts.products += 1;
    for (const { comparable } of its)
      counts.byValue.set(comparable, (counts.byValue.get(comparable) ?? 0) + 1);
  }
}

/** A value is read once, however many products have it. */
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
      const one = rule && readOnce(value, rule);
      if (attribute === undefined || one === undefined) continue;
      byAttribute.set(attribute, [...(byAttribute.get(attribute) ?? []), one]);
    }
    return { identifier, values: byAttribute };
  };
}
