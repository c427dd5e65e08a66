import { ServiceError } from '../../kernel/errors.ts';
import type { UploadedProduct } from '../products/products.ts';
import { type Attribute, indexByKey, isBlank, knownAliases, type Ontology } from './attribute.ts';
import { Examples, judge, type Problem, ProblemTally, type ValueExample } from './coverage.ts';
import { findNumericOnly, type WantedAttribute } from './ontology-check.ts';

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

/** An attribute as it is, if it is there, and as it would be. */
export interface ChangedAttribute {
  readonly before: Attribute | undefined;
  readonly after: Attribute;
}

/**
 * Finds the attribute that a changed one is meant to replace: by its id, else by its name.
 * @throws request_invalid for an attribute that could not be put into the ontology
 */
export function planChange(
  { attributes, unitAliases }: Pick<Ontology, 'attributes' | 'unitAliases'>,
  requested: WantedAttribute,
): ChangedAttribute {
  const byId = attributes.find(({ id }) => id === requested.id);
  const before = byId ?? attributes.find(({ name }) => name === requested.name);
  const others = indexByKey(attributes.filter((one) => one !== before));
  const taken = [requested.name, ...(requested.synonyms ?? [])].flatMap((key) => {
    const other = others.get(key);
    return other ? [`/attribute takes the key ${JSON.stringify(key)} of ${JSON.stringify(other.name)}`] : [];
  });
  const details = [...findNumericOnly(requested, '/attribute'), ...taken];
  if (details.length > 0) throw new ServiceError('request_invalid', { details });
  return { before, after: { ...requested, id: before?.id ?? 0, ...knownAliases(unitAliases) } };
}

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
    this.before = indexByKey(before === undefined ? [] : [before]);
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
