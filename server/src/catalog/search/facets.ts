import { type Attribute, listFacts, readMeasure } from '../ontology/ontology.ts';
import type { UploadedProduct } from '../products/products.ts';
import type { Facet } from './search-schemas.ts';

/** The best hits: about 25 µs each. */
export const FACETED = 200;
/** Of their uploads, which take 100 ms. */
const FACETED_CHARACTERS = 8 * 1024 * 1024;
const ATTRIBUTES = 20;
const VALUES = 10;
/** Distinct values of one attribute that are told apart. */
const DISTINCT = 1_000;
/** Of a value that is listed: a longer one is a text to read, not one to choose by. */
const VALUE_CHARACTERS = 255;

interface Tally {
  readonly attribute: Attribute;
  readonly values: Map<string, number>;
  count: number;
  min: number;
  max: number;
}

const EMPTY = { count: 0, min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY };

export class FacetTally {
  private readonly byId = new Map<number, Tally>();
  private readonly byKey: ReadonlyMap<string, Attribute>;
  products = 0;
  private characters = 0;

  constructor(byKey: ReadonlyMap<string, Attribute>) {
    this.byKey = byKey;
  }

  /** Whether it has looked at as many products, or as much of them, as facets are made of. */
  get isFull(): boolean {
    return this.products === FACETED || this.characters >= FACETED_CHARACTERS;
  }

  /** @param characters  of its upload */
  add({ attributes }: UploadedProduct, characters: number): void {
    this.products += 1;
    this.characters += characters;
    const seen = new Set<number>();
    for (const { attribute, value } of listFacts(attributes, this.byKey)) {
      const tally = this.byId.getOrInsertComputed(attribute.id, () => ({
        attribute,
        ...EMPTY,
        values: new Map(),
      }));
      if (!seen.has(attribute.id)) tally.count += 1;
      seen.add(attribute.id);
      countValue(tally.values, value);
      if (attribute.type === 'NUMERIC_ATTRIBUTE') noteNumber(tally, value);
    }
  }

  list(): readonly Facet[] {
    const frequent = [...this.byId.values()].sort(
      (a, b) => b.count - a.count || a.attribute.id - b.attribute.id,
    );
    return frequent.slice(0, ATTRIBUTES).map(describe);
  }
}

function countValue(values: Map<string, number>, value: string): void {
  if (value.length > VALUE_CHARACTERS) return;
  const known = values.get(value);
  if (known !== undefined || values.size < DISTINCT) values.set(value, (known ?? 0) + 1);
}

function noteNumber(tally: Tally, value: string): void {
  const measure = readMeasure(value, tally.attribute);
  if (!('plain' in measure)) return;
  tally.min = Math.min(tally.min, Number(measure.plain));
  tally.max = Math.max(tally.max, Number(measure.plain));
}

function describe({ attribute: { name, type, unitName }, count, values, min, max }: Tally): Facet {
  const frequent = [...values].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1));
  return {
    ...{ attribute: name, type },
    ...(unitName !== undefined && { unitName }),
    count,
    values: frequent.slice(0, VALUES).map(([value, times]) => ({ value, count: times })),
    ...(min <= max && { min, max }),
  };
}
