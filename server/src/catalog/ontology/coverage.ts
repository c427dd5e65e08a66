import { ServiceError } from '../../kernel/errors.ts';
import type { UploadedProduct } from '../products/products.ts';
import {
  type Attribute,
  describeNotExtracted,
  indexByKey,
  isBlank,
  knownAliases,
  type NotExtracted,
  type Ontology,
  whyNoFact,
} from './attribute.ts';
import { findNumericOnly, type RequestedAttribute } from './ontology-change.ts';

/** How an ontology fits a catalog, counted product by product. Source: docs/interface.md §11.6. */

interface ValueExample {
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

const shorten = (value: string) =>
  value.length > SHOWN_CHARACTERS ? `${value.slice(0, SHOWN_CHARACTERS)}…` : value;

/** Counts by the ontology as it is. */
export class CoverageTally {
  private readonly known: ReadonlyMap<string, AttributeTally>;
  private readonly unknown = new Map<string, AttributeTally>();
  private readonly attributes: readonly AttributeTally[];

  constructor(attributes: readonly Attribute[]) {
    const tallies = new Map(attributes.map((attribute) => [attribute, new AttributeTally(attribute)]));
    this.attributes = [...tallies.values()];
    const tallyOf = (attribute: Attribute) => tallies.get(attribute) as AttributeTally;
    this.known = new Map(
      indexByKey(attributes)
        .entries()
        .map(([key, one]) => [key, tallyOf(one)]),
    );
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

  describe() {
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
    const why = this.attribute.type === undefined ? undefined : whyNoFact(value, this.attribute);
    if (this.values.size < DISTINGUISHED) this.values.set(value, { why, count: 1 });
    else this.hasMoreValues = true;
    return why;
  }

  describe() {
    const { attribute, withValue, withFact, hasMoreValues } = this;
    const isKnown = attribute.type !== undefined;
    const { id, type, unitName } = isKnown ? attribute : { id: null, type: null };
    return {
      ...{ id, name: attribute.name, type, ...(unitName !== undefined && { unitName }) },
      ...{ withValue, withFact },
      values: [...this.values]
        .map(([value, { count }]) => ({ value: shorten(value), count }))
        .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
        .slice(0, SHOWN_VALUES),
      distinctValues: this.values.size,
      // Counts may be too small then.
      hasMoreValues,
      problems: isKnown ? this.problems.describe(attribute) : [],
    };
  }
}

class Examples {
  readonly shown: ValueExample[] = [];
  count = 0;

  add({ identifier, value }: ValueExample): void {
    this.count += 1;
    if (this.shown.length < SHOWN_EXAMPLES) this.shown.push({ identifier, value: shorten(value) });
  }
}

class ProblemTally {
  private readonly byCode = new Map<NotExtracted, Examples>();

  add(code: NotExtracted, example: ValueExample): void {
    this.byCode.getOrInsertComputed(code, () => new Examples()).add(example);
  }

  describe(attribute: Attribute) {
    return [...this.byCode].map(([code, { count, shown }]) => ({
      code,
      message: describeNotExtracted(code, attribute),
      count,
      examples: shown,
    }));
  }
}

/** What a changed attribute would do to the facts of a catalog. Source: docs/interface.md §11.6. */

/**
 * Finds the attribute that a changed one is meant to replace: by its id, else by its name. `deleted`: ids of others that are
 * deleted with the change, so that their keys are free.
 * @returns the attributes as they are, and the changed one as it would be
 * @throws request_invalid for an attribute that could not be put into the ontology
 */
export function planChange(
  { attributes, unitAliases }: Pick<Ontology, 'attributes' | 'unitAliases'>,
  { attribute: requested, deleted }: { attribute: RequestedAttribute; deleted: readonly number[] },
) {
  const byId = attributes.find(({ id }) => id === requested.id);
  const replaced = byId ?? attributes.find(({ name }) => name === requested.name);
  const before = attributes.filter((one) => one === replaced || deleted.includes(one.id));
  const details = [
    ...findNumericOnly(requested, '/attribute'),
    ...findTaken(requested, indexByKey(attributes.filter((one) => !before.includes(one)))),
    ...findUnknown(deleted, attributes),
  ];
  if (details.length > 0) throw new ServiceError('request_invalid', { details });
  return { before, after: { ...requested, id: replaced?.id ?? 0, ...knownAliases(unitAliases) } };
}

const findTaken = ({ name, synonyms = [] }: RequestedAttribute, others: ReadonlyMap<string, Attribute>) =>
  [name, ...synonyms].flatMap((key) => {
    const other = others.get(key);
    return other ? [`/attribute takes the key ${JSON.stringify(key)} of ${JSON.stringify(other.name)}`] : [];
  });

const findUnknown = (deleted: readonly number[], attributes: readonly Attribute[]) =>
  deleted.flatMap((id, at) =>
    attributes.some((one) => one.id === id) ? [] : [`/deleted/${at} is the id of no attribute: ${id}`],
  );

export class EffectTally {
  private readonly before: ReadonlyMap<string, Attribute>;
  private readonly after: ReadonlyMap<string, Attribute>;
  private readonly attribute: Attribute;
  private readonly gained = new Examples();
  private readonly lost = new Examples();
  private readonly problems = new ProblemTally();
  private withValue = 0;
  private kept = 0;

  constructor({ before, after }: { readonly before: readonly Attribute[]; readonly after: Attribute }) {
    this.before = indexByKey(before);
    this.after = indexByKey([after]);
    this.attribute = after;
  }

  add({ identifier, attributes }: UploadedProduct): void {
    let hasValue = false;
    for (const { key, value } of attributes) {
      const [before, after] = [this.before.get(key), this.after.get(key)];
      if (isBlank(value) || (before === undefined && after === undefined)) continue;
      hasValue = true;
      this.compare({ before, after }, { identifier, value });
    }
    if (hasValue) this.withValue += 1;
  }

  private compare(
    { before, after }: Record<'before' | 'after', Attribute | undefined>,
    example: ValueExample,
  ): void {
    const why = after && whyNoFact(example.value, after);
    const wasFact = before !== undefined && whyNoFact(example.value, before) === undefined;
    const isFact = after !== undefined && why === undefined;
    if (why !== undefined) this.problems.add(why, example);
    if (wasFact && isFact) this.kept += 1;
    else if (wasFact) this.lost.add(example);
    else if (isFact) this.gained.add(example);
  }

  /** Values that make a fact before and after; that would begin to; that would cease to; and those that would make none. */
  describe() {
    const { withValue, kept } = this;
    const counted = ({ count, shown }: Examples) => ({ count, examples: shown });
    return {
      ...{ withValue, kept, gained: counted(this.gained), lost: counted(this.lost) },
      problems: this.problems.describe(this.attribute),
    };
  }
}
