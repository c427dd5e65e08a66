import { type Attribute, isFact, readMeasure } from '../../catalog/ontology/ontology.ts';
import type { UploadedProduct } from '../../catalog/products/products.ts';
import type { Facet } from '../search-schemas.ts';

/** How many of the best hits are counted; each takes about 10 µs. */
export const FACETED = 200;
/** How many characters of their uploads are counted; this takes 100 ms. */
const FACETED_CHARACTERS = 8 * 1024 * 1024;
const ATTRIBUTES = 20;
const VALUES = 10;
/** How many distinct values of one attribute are counted separately. */
const DISTINCT = 1_000;
/** The longest value that is listed. A longer one is a text to read and not a choice. */
const VALUE_CHARACTERS = 255;

/** The number of products that have a value, or a value of an attribute. */
interface Count {
  products: number;
  /** The last of these products. It is not counted twice. */
  last: number;
}

interface Tally extends Count {
  readonly attribute: Attribute;
  readonly values: Map<string, Count>;
  min: number;
  max: number;
}

const EMPTY = { products: 0, last: 0 };
const NO_RANGE = { min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY };

export class FacetTally {
  private readonly byId = new Map<number, Tally>();
  private readonly byKey: ReadonlyMap<string, Attribute>;
  products = 0;
  private characters = 0;
  private readonly most: number;

  constructor(byKey: ReadonlyMap<string, Attribute>, most = FACETED) {
    this.byKey = byKey;
    this.most = most;
  }

  get isWanted(): boolean {
    return this.most > 0;
  }

  /** Whether it has counted as many products, or as many characters of them, as facets need. */
  get isFull(): boolean {
    return this.products === this.most || this.characters >= FACETED_CHARACTERS;
  }

  /** @param characters of the upload */
  add({ attributes }: UploadedProduct, characters: number): void {
    this.products += 1;
    this.characters += characters;
    for (const { key, value } of attributes) {
      const attribute = this.byKey.get(key);
      if (attribute === undefined) continue;
      const counted = this.byId.get(attribute.id);
      const count = counted?.values.get(value);
      // Many products share most values, so each value is read once.
      if (count === undefined && !isFact(value, attribute)) continue;
      const tally = counted ?? { attribute, ...EMPTY, ...NO_RANGE, values: new Map() };
      if (counted === undefined) this.byId.set(attribute.id, tally);
      noteProduct(tally, this.products);
      noteProduct(count ?? addValue(tally, value), this.products);
    }
  }

  list(): readonly Facet[] {
    const frequent = [...this.byId.values()].sort(
      (a, b) => b.products - a.products || a.attribute.id - b.attribute.id,
    );
    return frequent.slice(0, ATTRIBUTES).map(describe);
  }
}

function noteProduct(count: Count, product: number): void {
  if (count.last !== product) count.products += 1;
  count.last = product;
}

function addValue(tally: Tally, value: string): Count {
  const { attribute, values } = tally;
  const count = { ...EMPTY };
  if (value.length <= VALUE_CHARACTERS && values.size < DISTINCT) values.set(value, count);
  if (attribute.type === 'NUMERIC_ATTRIBUTE') noteNumber(tally, value);
  return count;
}

function noteNumber(tally: Tally, value: string): void {
  const measure = readMeasure(value, tally.attribute);
  if (!('plain' in measure)) return;
  tally.min = Math.min(tally.min, Number(measure.plain));
  tally.max = Math.max(tally.max, Number(measure.plain));
}

function describe({ attribute: { name, type, unitName }, products: count, values, min, max }: Tally): Facet {
  const frequent = [...values].sort(
    ([a, count], [b, otherCount]) => otherCount.products - count.products || (a < b ? -1 : 1),
  );
  return {
    attribute: name,
    type,
    ...(unitName !== undefined && { unitName }),
    count,
    values: frequent.slice(0, VALUES).map(([value, { products }]) => ({ value, count: products })),
    ...(min <= max && { min, max }),
  };
}
