import type { UploadedProduct } from '../products/products.ts';
import {
  type Attribute,
  describeNotExtracted,
  indexByKey,
  isBlank,
  type NotExtracted,
  readValue,
} from './attribute.ts';

/** How an ontology fits a catalog, counted product by product. Source: docs/interface.md §11.6. */

export interface AttributeCoverage {
  /** null: the ontology does not know the key. */
  readonly id: number | null;
  readonly name: string;
  readonly type: Attribute['type'] | null;
  readonly unitName?: string;
  /** Products with a value, and those with a fact. */
  readonly withValue: number;
  readonly withFact: number;
  /** The most frequent first. */
  readonly values: readonly CountedValue[];
  readonly distinctValues: number;
  /** Whether there are more distinct values than were counted, so that counts may be too small. */
  readonly hasMoreValues: boolean;
  readonly problems: readonly Problem[];
}

interface CountedValue {
  readonly value: string;
  readonly count: number;
}

/** Values that make no fact for the same reason. */
export interface Problem {
  readonly code: NotExtracted;
  readonly message: string;
  /** Of values. */
  readonly count: number;
  readonly examples: readonly ValueExample[];
}

export interface ValueExample {
  readonly identifier: string;
  readonly value: string;
}

const SHOWN_VALUES = 100;
const SHOWN_EXAMPLES = 20;
/** Distinct values counted per attribute: with 1,000 attributes 500 MB in the worst case, usually less than 10. */
const DISTINGUISHED = 5_000;
/** Keys that the ontology does not know; a longer list is of no use to readers. */
const UNKNOWN_KEYS = 1_000;
const SHOWN_CHARACTERS = 200;

export const shorten = (value: string) =>
  value.length > SHOWN_CHARACTERS ? `${value.slice(0, SHOWN_CHARACTERS)}…` : value;

/** Counts by the ontology as it is. */
export class CoverageTally {
  private readonly known: ReadonlyMap<string, AttributeTally>;
  private readonly unknown = new Map<string, AttributeTally>();
  private readonly attributes: readonly AttributeTally[];

  constructor(attributes: readonly Attribute[]) {
    const tallies = new Map(attributes.map((attribute) => [attribute, new AttributeTally(attribute)]));
    this.attributes = [...tallies.values()];
    const byKey = [...indexByKey(attributes)].map(
      ([key, attribute]) => [key, tallies.get(attribute)] as const,
    );
    this.known = new Map(byKey.filter((pair): pair is [string, AttributeTally] => pair[1] !== undefined));
  }

  add({ identifier, attributes }: UploadedProduct): void {
    for (const { key, value } of attributes) {
      if (!isBlank(value)) this.find(key)?.add(identifier, value);
    }
  }

  private find(key: string): AttributeTally | undefined {
    const found = this.known.get(key) ?? this.unknown.get(key);
    if (found !== undefined || this.unknown.size >= UNKNOWN_KEYS) return found;
    const added = new AttributeTally({ name: key });
    this.unknown.set(key, added);
    return added;
  }

  describe(): { attributes: AttributeCoverage[]; unknown: AttributeCoverage[] } {
    const unknown = [...this.unknown.values()].map((tally) => tally.describe());
    return {
      attributes: this.attributes.map((tally) => tally.describe()),
      unknown: unknown.sort((a, b) => b.withValue - a.withValue || (a.name < b.name ? -1 : 1)),
    };
  }
}

class AttributeTally {
  private readonly attribute: Attribute | { readonly name: string; readonly type?: undefined };
  private readonly values = new Map<string, { readonly why: NotExtracted | undefined; count: number }>();
  private readonly problems = new ProblemTally();
  private withValue = 0;
  private withFact = 0;
  private hasMoreValues = false;
  /** Products come one after another: so each counts once. */
  private lastWithValue: string | undefined;
  private lastWithFact: string | undefined;

  constructor(attribute: AttributeTally['attribute']) {
    this.attribute = attribute;
  }

  add(identifier: string, value: string): void {
    const why = this.count(value);
    if (this.lastWithValue !== identifier) this.withValue += 1;
    this.lastWithValue = identifier;
    if (this.attribute.type === undefined) return;
    if (why !== undefined) {
      this.problems.add(why, { identifier, value });
      return;
    }
    if (this.lastWithFact !== identifier) this.withFact += 1;
    this.lastWithFact = identifier;
  }

  /** @returns why the value makes no fact; most values of a catalog repeat and are judged once */
  private count(value: string): NotExtracted | undefined {
    const known = this.values.get(value);
    if (known !== undefined) {
      known.count += 1;
      return known.why;
    }
    const why = this.attribute.type === undefined ? undefined : judge(value, this.attribute);
    if (this.values.size < DISTINGUISHED) this.values.set(value, { why, count: 1 });
    else this.hasMoreValues = true;
    return why;
  }

  describe(): AttributeCoverage {
    const { attribute, withValue, withFact, hasMoreValues } = this;
    const isKnown = attribute.type !== undefined;
    return {
      id: isKnown ? attribute.id : null,
      name: attribute.name,
      type: attribute.type ?? null,
      ...(isKnown && attribute.unitName !== undefined && { unitName: attribute.unitName }),
      ...{ withValue, withFact },
      values: [...this.values]
        .map(([value, { count }]) => ({ value: shorten(value), count }))
        .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
        .slice(0, SHOWN_VALUES),
      distinctValues: this.values.size,
      hasMoreValues,
      problems: isKnown ? this.problems.describe(attribute) : [],
    };
  }
}

export function judge(value: string, attribute: Attribute): NotExtracted | undefined {
  const read = readValue(value, attribute);
  return read.kind === 'none' ? read.why : undefined;
}

/** The first of many, and how many there were. */
export class Examples {
  readonly shown: ValueExample[] = [];
  count = 0;

  add({ identifier, value }: ValueExample): void {
    this.count += 1;
    if (this.shown.length < SHOWN_EXAMPLES) this.shown.push({ identifier, value: shorten(value) });
  }
}

/** Values without a fact, by reason. */
export class ProblemTally {
  private readonly byCode = new Map<NotExtracted, Examples>();

  add(code: NotExtracted, example: ValueExample): void {
    const examples = this.byCode.get(code) ?? new Examples();
    this.byCode.set(code, examples);
    examples.add(example);
  }

  describe(attribute: Attribute): Problem[] {
    return [...this.byCode].map(([code, { count, shown }]) => ({
      code,
      message: describeNotExtracted(code, attribute),
      count,
      examples: shown,
    }));
  }
}
