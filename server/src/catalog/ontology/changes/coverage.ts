import { ServiceError } from '../../../kernel/errors.ts';
import type { UploadedProduct } from '../../products/products.ts';
import {
  type Attribute,
  describeNotExtracted,
  indexByKey,
  isBlank,
  isFact,
  type NotExtracted,
  type Ontology,
  toAliasMember,
  whyNoFact,
} from '../attribute.ts';
import { shorten } from '../extraction.ts';
import { findNumericOnly, type RequestedAttribute } from './ontology-change.ts';

/** Counts how well an ontology fits a catalog, product by product. Source: docs/interface §11.6. */

type ValueExample = Readonly<Record<'identifier' | 'value', string>>;

const SHOWN_VALUES = 100;
const SHOWN_EXAMPLES = 20;
/**
 * How many distinct values are counted per attribute. With 1,000 attributes they take 500 MB at most, and usually
 * less than 10 MB.
 */
const DISTINGUISHED = 5_000;
/** The number of unknown keys that are listed, because people do not read longer lists. */
const UNKNOWN_KEYS = 1_000;

interface Examples {
  count: number;
  readonly examples: ValueExample[];
}

const noExamples = (): Examples => ({ count: 0, examples: [] });

function addExample(to: Examples, { identifier, value }: ValueExample): void {
  to.count += 1;
  if (to.examples.length < SHOWN_EXAMPLES) to.examples.push({ identifier, value: shorten(value) });
}

/** Values that make no fact, by reason. */
type Problems = Map<NotExtracted, Examples>;

const addProblem = (problems: Problems, why: NotExtracted, example: ValueExample) =>
  addExample(problems.getOrInsertComputed(why, noExamples), example);

const describeProblems = (problems: Problems, attribute: Attribute) =>
  [...problems].map(([code, examples]) => ({
    code,
    message: describeNotExtracted(code, attribute),
    ...examples,
  }));

/** Counts values and facts under the present ontology. */
export function tallyCoverage(attributes: readonly Attribute[]) {
  const byKey = indexByKey(attributes);
  const tallyByAttribute = new Map(attributes.map((attribute) => [attribute, tallyAttribute(attribute)]));
  const unknown = new Map<string, ReturnType<typeof tallyAttribute>>();

  function find(key: string) {
    const attribute = byKey.get(key);
    const tally = attribute === undefined ? unknown.get(key) : tallyByAttribute.get(attribute);
    if (tally !== undefined || unknown.size >= UNKNOWN_KEYS) return tally;
    const added = tallyAttribute({ name: key });
    unknown.set(key, added);
    return added;
  }

  return {
    add({ identifier, attributes }: UploadedProduct): void {
      for (const { key, value } of attributes) if (!isBlank(value)) find(key)?.add(identifier, value);
    },
    describe: () => ({
      attributes: [...tallyByAttribute.values()].map((tally) => tally.describe()),
      unknown: [...unknown.values()]
        .map((tally) => tally.describe())
        .sort((a, b) => b.withValue - a.withValue || (a.name < b.name ? -1 : 1)),
    }),
  };
}

/** @param attribute has no type if the ontology does not know the key */
function tallyAttribute(attribute: Attribute | { readonly name: string; readonly type?: undefined }) {
  const values = new Map<string, { readonly why: NotExtracted | undefined; count: number }>();
  const problems: Problems = new Map();
  const counts = { withValue: 0, withFact: 0 };
  // If it is true, counts of values may be too small.
  let hasMoreValues = false;
  /** Comparing with the last product suffices, because the values of a product are counted one after another. */
  let lastWithValue: string | undefined;
  let lastWithFact: string | undefined;

  /** @returns why the value makes no fact; most values of a catalog repeat and are judged once */
  function count(value: string): NotExtracted | undefined {
    const counted = values.get(value);
    if (counted !== undefined) {
      counted.count += 1;
      return counted.why;
    }
    const why = attribute.type === undefined ? undefined : whyNoFact(value, attribute);
    if (values.size < DISTINGUISHED) values.set(value, { why, count: 1 });
    else hasMoreValues = true;
    return why;
  }

  return {
    add(identifier: string, value: string): void {
      const why = count(value);
      if (lastWithValue !== identifier) counts.withValue += 1;
      lastWithValue = identifier;
      if (attribute.type === undefined) return;
      if (why !== undefined) {
        addProblem(problems, why, { identifier, value });
        return;
      }
      if (lastWithFact !== identifier) counts.withFact += 1;
      lastWithFact = identifier;
    },
    describe() {
      const isKnown = attribute.type !== undefined;
      const { id, type, unitName } = isKnown ? attribute : { id: null, type: null };
      return {
        id,
        name: attribute.name,
        type,
        ...(unitName !== undefined && { unitName }),
        ...counts,
        values: [...values]
          .map(([value, { count }]) => ({ value: shorten(value), count }))
          .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
          .slice(0, SHOWN_VALUES),
        distinctValues: values.size,
        hasMoreValues,
        problems: isKnown ? describeProblems(problems, attribute) : [],
      };
    },
  };
}

/** Counts the effect of a changed attribute on the facts of a catalog. Source: docs/interface §11.6. */

/**
 * Finds the attribute that a changed one replaces, by its id or otherwise by its name. `deleted` has the ids of other
 * attributes that the change deletes, so that their keys are free.
 * @returns the present attributes that the change replaces or deletes, and the changed attribute
 * @throws request_invalid for an attribute that cannot be added to the ontology
 */
export function planChange(
  { attributes, unitAliases }: Pick<Ontology, 'attributes' | 'unitAliases'>,
  { attribute: requested, deleted }: { attribute: RequestedAttribute; deleted: readonly number[] },
) {
  const byId = attributes.find(({ id }) => id === requested.id);
  const replaced = byId ?? attributes.find(({ name }) => name === requested.name);
  const before = attributes.filter((attribute) => attribute === replaced || deleted.includes(attribute.id));
  const details = [
    ...findNumericOnly(requested, '/attribute'),
    ...findTaken(requested, indexByKey(attributes.filter((attribute) => !before.includes(attribute)))),
    ...findUnknown(deleted, attributes),
  ];
  if (details.length > 0) throw new ServiceError('request_invalid', { details });
  return { before, after: { ...requested, id: replaced?.id ?? 0, ...toAliasMember(unitAliases) } };
}

const findTaken = ({ name, synonyms = [] }: RequestedAttribute, others: ReadonlyMap<string, Attribute>) =>
  [name, ...synonyms].flatMap((key) => {
    const other = others.get(key);
    return other ? [`/attribute uses the key ${JSON.stringify(key)} of ${JSON.stringify(other.name)}`] : [];
  });

const findUnknown = (deleted: readonly number[], attributes: readonly Attribute[]) =>
  deleted.flatMap((id, index) =>
    attributes.some((attribute) => attribute.id === id)
      ? []
      : [`/deleted/${index}: no attribute has the id ${id}`],
  );

/**
 * Counts the values that make a fact before and after, that would gain one, that would lose one, and that would make
 * none.
 */
export function tallyEffect(change: { readonly before: readonly Attribute[]; readonly after: Attribute }) {
  const [former, latter] = [indexByKey(change.before), indexByKey([change.after])];
  const effect = noEffect();
  return {
    add({ identifier, attributes }: UploadedProduct): void {
      let hasValue = false;
      for (const { key, value } of attributes) {
        const [before, after] = [former.get(key), latter.get(key)];
        if (isBlank(value) || (before === undefined && after === undefined)) continue;
        hasValue = true;
        addEffect(effect, { before, after }, { identifier, value });
      }
      if (hasValue) effect.withValue += 1;
    },
    describe: () => ({ ...effect, problems: describeProblems(effect.problems, change.after) }),
  };
}

const noEffect = () => ({
  withValue: 0,
  kept: 0,
  gained: noExamples(),
  lost: noExamples(),
  problems: new Map() as Problems,
});

function addEffect(
  effect: ReturnType<typeof noEffect>,
  { before, after }: Record<'before' | 'after', Attribute | undefined>,
  example: ValueExample,
): void {
  const why = after && whyNoFact(example.value, after);
  const wasFact = before !== undefined && isFact(example.value, before);
  const becomesFact = after !== undefined && why === undefined;
  if (why !== undefined) addProblem(effect.problems, why, example);
  if (wasFact && becomesFact) effect.kept += 1;
  else if (wasFact) addExample(effect.lost, example);
  else if (becomesFact) addExample(effect.gained, example);
}
