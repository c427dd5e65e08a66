import {
  type DraftSettings,
  draftAttribute,
  joinObserved,
  observeValue,
} from '../catalog/ontology/drafts/drafts.ts';
import {
  type Attribute,
  indexByKey,
  isFact,
  NUMBER_FORMS,
  type Ontology,
} from '../catalog/ontology/ontology.ts';
import { nameInTable } from '../catalog/ontology/units/units.ts';
import { countEach } from '../kernel/count-each.ts';
import { foldName, idOf, isNear } from './attribute-names.ts';
import type { CatalogSample, SampledValue } from './catalog-sample.ts';
import type {
  AttributeSuggestion,
  CountedValue,
  DraftedAttribute,
  DuplicateSuggestion,
  NamedAttribute,
} from './suggestion-schemas.ts';

/**
 * Finds attributes whose values fit another type than that of the ontology, and keys that the ontology does
 * not have. A full update makes an attribute text as soon as one value is not a number. Here a few such
 * values are tolerated, and a person decides.
 */

/**
 * The least share of values that fit the suggested type. With a lower share, more values would be lost than
 * gained.
 */
const FITTING = 0.95;
/** If the present type reads this share of the values, a person probably chose it. */
const GOOD_ENOUGH = 0.5;
const PRODUCTS = 10;
const SHOWN_MISFITS = 20;
/** The most suggestions that are shown, because a person has to review them. */
const SHOWN = 20;

/** @returns suggestions, the best first */
export function suggestAttributes(
  attributes: readonly SampledAttribute[],
  ontology: Ontology,
  settings: Pick<DraftSettings, 'locale'>,
): AttributeSuggestion[] {
  return attributes
    .filter(({ products }) => products >= PRODUCTS)
    .flatMap((sampled) => suggestType(sampled, { ...settings, unitAliases: ontology.unitAliases }) ?? [])
    .sort((a, b) => weigh(b) - weigh(a) || (a.id < b.id ? -1 : 1))
    .slice(0, SHOWN);
}

/** A wrong type outweighs a missing attribute. Otherwise the number of affected products decides. */
const weigh = ({ evidence }: AttributeSuggestion) =>
  evidence.products * (evidence.typeNow === null ? 1 : 1_000_000);

function suggestType(sampled: SampledAttribute, settings: DraftSettings): AttributeSuggestion | undefined {
  const { attribute: present, values } = sampled;
  const all = countValues(values);
  const isBetter = (candidate: Attribute) => countFits(values, candidate) >= FITTING * all;
  const drafted = listReadings(sampled, settings).find(isBetter) ?? asText(sampled);
  if (drafted === undefined || (present !== undefined && readsEnough(values, present))) return undefined;
  const synonyms = present?.synonyms;
  const attribute = toDraft({ ...drafted, id: present?.id ?? 0, ...(synonyms && { synonyms }) });
  const misfits = values.filter(({ text }) => !isFact(text, drafted));
  return {
    kind: 'attribute',
    id: idOf('attribute', [sampled.name, drafted.type, drafted.unitName ?? '']),
    evidence: {
      typeNow: present?.type ?? null,
      products: sampled.products,
      values: all,
      fits: all - countValues(misfits),
      distinctMisfits: misfits.length,
      misfits: showValues(misfits, SHOWN_MISFITS),
      examples: showValues(values.filter((value) => !misfits.includes(value))),
    },
    draft: { attribute },
  };
}

const countFits = (values: readonly SampledValue[], attribute: Attribute) =>
  countValues(values.filter(({ text }) => isFact(text, attribute)));

/** A text attribute reads every value, so reading proves nothing. */
const readsEnough = (values: readonly SampledValue[], present: Attribute) =>
  present.type !== 'TEXT_ATTRIBUTE' &&
  present.type !== 'UNTYPED_ATTRIBUTE' &&
  countFits(values, present) >= GOOD_ENOUGH * countValues(values);

/**
 * A key that the ontology does not have becomes text if no other type fits. Text attributes of the ontology
 * stay unchanged.
 */
const asText = ({ name, attribute }: SampledAttribute): Attribute | undefined =>
  attribute === undefined ? { id: 0, name, type: 'TEXT_ATTRIBUTE' } : undefined;

/**
 * @returns attributes that could read most of the values: numbers in the most frequent unit, true and false,
 * dates
 */
const listReadings = ({ name, values }: SampledAttribute, settings: DraftSettings): Attribute[] => [
  ...listNumeric(name, values, settings),
  { id: 0, name, type: 'BOOLEAN_ATTRIBUTE' },
  { id: 0, name, type: 'DATE_ATTRIBUTE' },
];

/**
 * Drafts the attribute like a full update, but only from values that are measures in one unit and in one
 * number form.
 */
function listNumeric(name: string, values: readonly SampledValue[], settings: DraftSettings): Attribute[] {
  const measures = values.flatMap((value) => {
    const observed = observeValue(value.text);
    const [unit] = observed.units;
    // Different spellings of a unit count as one unit.
    return unit ? [{ ...value, observed, unit: nameInTable(unit[0], settings.unitAliases) }] : [];
  });
  const byUnit = [...Map.groupBy(measures, ({ unit }) => unit).values()];
  const [most = []] = byUnit.sort((a, b) => countValues(b) - countValues(a));
  return NUMBER_FORMS.flatMap((form) => {
    const written = most.map(({ observed }) => observed).filter(({ misfits }) => misfits[form] === undefined);
    if (written.length === 0) return [];
    const joined = written.reduce((a, b) => joinObserved(a, b));
    const { decidedBy: _, ...drafted } = draftAttribute({ id: 0, name }, joined, settings);
    return drafted.type === 'NUMERIC_ATTRIBUTE' ? [drafted] : [];
  });
}

/**
 * Finds two attributes with one meaning. Their names differ in case, separators or a letter (Color, Colour),
 * and products have one or the other. There is no list of words: similar names count only if the values are
 * the same.
 */

/**
 * The largest share of products that have both attributes, of the rarer attribute. A product with both
 * distinguishes them.
 */
const MOST_BOTH = 0.05;
/**
 * The least share of common values for similar names, of the rarer attribute. Power and Tower have none in
 * common.
 */
const LEAST_SHARED = 0.5;
const EXAMPLES = 5;
/** The limit of synonyms of an attribute (docs/interface §11.1). */
const SYNONYMS = 100;

type Pair = readonly [kept: SampledAttribute, dropped: SampledAttribute];

/** @returns suggestions, the best first */
export function suggestDuplicates(attributes: readonly SampledAttribute[], sample: CatalogSample) {
  const pairs = listNamedAlike(attributes).map(orderPair);
  const both = countBoth(sample, pairs);
  return pairs
    .flatMap((pair, index) => describePair(pair, both[index] ?? 0) ?? [])
    .sort((a, b) => b.evidence.dropped.products - a.evidence.dropped.products || (a.id < b.id ? -1 : 1))
    .slice(0, SHOWN);
}

function listNamedAlike(attributes: readonly SampledAttribute[]): Pair[] {
  const folded = attributes.map((attribute) => ({ one: attribute, name: foldName(attribute.name) }));
  return folded.flatMap(({ one: attribute, name }, index) =>
    folded
      .slice(index + 1)
      .filter((other) => name !== '' && (name === other.name || isNear(name, other.name)))
      .map((other): Pair => [attribute, other.one]),
  );
}

/** Keeps the attribute that the ontology has; otherwise the attribute that more products have. */
function orderPair([a, b]: Pair): Pair {
  const isFirst =
    Number(b.attribute !== undefined) - Number(a.attribute !== undefined) ||
    b.products - a.products ||
    (a.name < b.name ? -1 : 1);
  return isFirst <= 0 ? [a, b] : [b, a];
}

/** @returns for each pair, the number of products that have both attributes */
function countBoth(sample: CatalogSample, pairs: readonly Pair[]): number[] {
  const counts = pairs.map(() => 0);
  const keys = pairs.map((pair) => pair.map(({ values }) => new Set(values.map(({ key }) => key))));
  for (const { values } of pairs.length === 0 ? [] : sample.products) {
    const present = new Set(values.map(({ key }) => key));
    for (const [index, sides] of keys.entries()) {
      if (sides.every((side) => !side.isDisjointFrom(present))) counts[index] = (counts[index] ?? 0) + 1;
    }
  }
  return counts;
}

function describePair([kept, dropped]: Pair, withBoth: number): DuplicateSuggestion | undefined {
  const byFolded = new Map(kept.values.map((value) => [foldValue(value), value]));
  const { shared = [], other: misfits = [] } = Object.groupBy(dropped.values, (value) =>
    byFolded.has(foldValue(value)) ? 'shared' : 'other',
  );
  const [values, sharedValues] = [countValues(dropped.values), countValues(shared)];
  const isSameName = foldName(kept.name) === foldName(dropped.name);
  const ofKept = kept.attribute?.synonyms ?? [];
  const synonyms = [...ofKept, dropped.name, ...(dropped.attribute?.synonyms ?? [])];
  if (withBoth > MOST_BOTH * Math.min(kept.products, dropped.products)) return undefined;
  if (!isSameName && sharedValues < LEAST_SHARED * values) return undefined;
  if (kept.attribute === undefined || synonyms.length > SYNONYMS) return undefined;
  return {
    kind: 'duplicate',
    id: idOf('duplicate', [kept.name, dropped.name].toSorted()),
    evidence: {
      kept: nameAttribute(kept),
      dropped: nameAttribute(dropped),
      withBoth,
      sharedValues,
      values,
      examples: shared.slice(0, EXAMPLES).map((value) => ({
        value: value.text,
        kept: byFolded.get(foldValue(value))?.count ?? 0,
        dropped: value.count,
      })),
      misfits: showValues(misfits, SHOWN_MISFITS),
    },
    draft: {
      attribute: { ...toDraft(kept.attribute), synonyms },
      ...(dropped.attribute !== undefined && { deleted: [dropped.attribute.id] }),
    },
  };
}

const foldValue = ({ text }: SampledValue) => text.trim().toLowerCase();

/** An attribute of the ontology, or a key that the ontology does not have, with its values in the sample. */
interface SampledAttribute {
  readonly name: string;
  readonly attribute: Attribute | undefined;
  /** The values by descending frequency. A text occurs once for each key. */
  readonly values: readonly SampledValue[];
  /** The number of products with a value. */
  readonly products: number;
}

/** @returns all attributes that products have values of */
export function listSampled(sample: CatalogSample, { attributes }: Ontology): SampledAttribute[] {
  const byKey = indexByKey(attributes);
  const nameOf = (key: string) => byKey.get(key)?.name ?? key;
  const keys = Map.groupBy(sample.keys, ([key]) => nameOf(key));
  const named = sample.products.flatMap(({ values }) => [...new Set(values.map(({ key }) => nameOf(key)))]);
  const products = countEach(named);
  return [...keys].map(([name, itsKeys]) => ({
    name,
    attribute: byKey.get(name),
    values: itsKeys.flatMap(([, values]) => [...values.values()]).sort(byCount),
    products: products.get(name) ?? 0,
  }));
}

const byCount = (a: SampledValue, b: SampledValue) => b.count - a.count || (a.text < b.text ? -1 : 1);

const countValues = (values: readonly SampledValue[]): number =>
  values.reduce((sum, { count }) => sum + count, 0);

/** @returns the first values in the form of evidence */
const showValues = (values: readonly SampledValue[], most = EXAMPLES): CountedValue[] =>
  values.slice(0, most).map(({ text, count, identifiers }) => ({ value: text, count, identifiers }));

const nameAttribute = ({ name, attribute, products }: SampledAttribute): NamedAttribute => ({
  id: attribute?.id ?? null,
  name,
  type: attribute?.type ?? null,
  products,
});

/** @returns an attribute in the form of a draft, without the members that only the service sets */
function toDraft(attribute: Attribute): DraftedAttribute {
  const { reason: _, typing: __, unitAliases: ___, id, ...drafted } = attribute;
  return { ...(id > 0 && { id }), ...drafted };
}
