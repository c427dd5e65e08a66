import { ServiceError } from '../../kernel/errors.ts';
import type { UploadedProduct } from '../products/products.ts';
import { type Attribute, indexByKey, isBlank, knownAliases, type Ontology } from './attribute.ts';
import { Examples, judge, type Problem, ProblemTally, type ValueExample } from './coverage.ts';
import { findNumericOnly, type RequestedAttribute } from './ontology-change.ts';

/** What a changed attribute would do to the facts of a catalog. Source: docs/interface.md §11.6. */

export interface AttributeEffect {
  /** Products with a value under the attribute, as it is or as it would be. */
  readonly withValue: number;
  /** Values that make a fact now and would; that would begin to; that would cease to. */
  readonly kept: number;
  readonly gained: CountedExamples;
  readonly lost: CountedExamples;
  /** Values that would make no fact. */
  readonly problems: readonly Problem[];
}

interface CountedExamples {
  readonly count: number;
  readonly examples: readonly ValueExample[];
}

/** An attribute as it is, if it is there, with those that go with the change, and as it would be. */
export interface ChangedAttribute {
  readonly before: readonly Attribute[];
  readonly after: Attribute;
}

/** A changed attribute that is asked about. */
export interface RequestedChange {
  readonly attribute: RequestedAttribute;
  /** Ids of other attributes that are deleted with the change, so that their keys are free. */
  readonly deleted: readonly number[];
}

/**
 * Finds the attribute that a changed one is meant to replace: by its id, else by its name.
 * @throws request_invalid for an attribute that could not be put into the ontology
 */
export function planChange(
  { attributes, unitAliases }: Pick<Ontology, 'attributes' | 'unitAliases'>,
  { attribute: requested, deleted }: RequestedChange,
): ChangedAttribute {
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

  constructor({ before, after }: ChangedAttribute) {
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
    const why = after && judge(example.value, after);
    const wasFact = before !== undefined && judge(example.value, before) === undefined;
    const isFact = after !== undefined && why === undefined;
    if (why !== undefined) this.problems.add(why, example);
    if (wasFact && isFact) this.kept += 1;
    else if (wasFact) this.lost.add(example);
    else if (isFact) this.gained.add(example);
  }

  describe(): AttributeEffect {
    const { withValue, kept } = this;
    const counted = ({ count, shown }: Examples) => ({ count, examples: shown });
    return {
      ...{ withValue, kept, gained: counted(this.gained), lost: counted(this.lost) },
      problems: this.problems.describe(this.attribute),
    };
  }
}
