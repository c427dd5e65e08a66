import {
  type Attribute,
  type DraftSettings,
  draftAttribute,
  isFact,
  joinObserved,
  NUMBER_FORMS,
  nameInTable,
  type Observed,
  type Ontology,
  observeValue,
} from '../catalog/catalog.ts';
import type { SampledValue } from './catalog-sample.ts';
import { countValues, type SampledAttribute, showValues, toDraft } from './sampled-attribute.ts';
import { type AttributeSuggestion, idOf } from './suggestion.ts';

/**
 * Attributes whose values are of another type than the ontology says, or that it lacks. A full update makes text of an
 * attribute as soon as one value is no number; here a few do not count, and somebody looks at them.
 */

/** Less would lose more than it gains; with more values than these to look at, too. */
const FITTING = 0.95;
/** A present type that reads this much is somebody's choice. */
const GOOD_ENOUGH = 0.5;
const PRODUCTS = 10;
const SHOWN_MISFITS = 20;
const SHOWN = 20;

/** @returns the best first */
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

/** A type that is wrong comes before an attribute that is missing; then whatever concerns most products. */
const weigh = ({ evidence }: AttributeSuggestion) =>
  evidence.products * (evidence.typeNow === null ? 1 : 1_000_000);

function suggestType(sampled: SampledAttribute, settings: DraftSettings): AttributeSuggestion | undefined {
  const { name, attribute: present, values } = sampled;
  const all = countValues(values);
  const isBetter = (one: Attribute) => countFits(values, one) >= FITTING * all;
  const drafted = listReadings(sampled, settings).find(isBetter) ?? asText(sampled);
  if (drafted === undefined || (present !== undefined && readsEnough(values, present))) return undefined;
  const attribute = toDraft({ ...drafted, id: present?.id ?? 0, ...takeSynonyms(present) });
  const misfits = values.filter(({ text }) => !isFact(text, drafted));
  return {
    ...{ kind: 'attribute', id: idOf('attribute', [name, drafted.type, drafted.unitName ?? '']) },
    evidence: {
      ...{ typeNow: present?.type ?? null, products: sampled.products, values: all },
      ...{ fits: all - countValues(misfits), distinctMisfits: misfits.length },
      misfits: showValues(misfits, SHOWN_MISFITS),
      examples: showValues(values.filter((value) => !misfits.includes(value))),
    },
    draft: { attribute },
  };
}

const takeSynonyms = (present: Attribute | undefined) =>
  present?.synonyms === undefined ? {} : { synonyms: present.synonyms };

const countFits = (values: readonly SampledValue[], attribute: Attribute) =>
  countValues(values.filter(({ text }) => isFact(text, attribute)));

/** Text reads everything, and tells nothing of it. */
const readsEnough = (values: readonly SampledValue[], present: Attribute) =>
  present.type !== 'TEXT_ATTRIBUTE' &&
  present.type !== 'UNTYPED_ATTRIBUTE' &&
  countFits(values, present) >= GOOD_ENOUGH * countValues(values);

/** What the ontology does not know and nothing else fits; what it has as text stays text. */
const asText = ({ name, attribute }: SampledAttribute): Attribute | undefined =>
  attribute === undefined ? { id: 0, name, type: 'TEXT_ATTRIBUTE' } : undefined;

/** @returns attributes that may read most of the values: numbers of the most frequent unit, true and false, dates */
function listReadings({ name, values }: SampledAttribute, settings: DraftSettings): Attribute[] {
  return [
    ...listNumeric(name, values, settings),
    { id: 0, name, type: 'BOOLEAN_ATTRIBUTE' },
    { id: 0, name, type: 'DATE_ATTRIBUTE' },
  ];
}

/** Judged as a full update judges them, by those values alone that are measures of one unit, written in one form. */
function listNumeric(name: string, values: readonly SampledValue[], settings: DraftSettings): Attribute[] {
  const measures = values.flatMap((value) => {
    const observed = observeValue(value.text);
    return observed.units.length === 0 ? [] : [{ ...value, observed, unit: unitOf(observed, settings) }];
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

/** Spellings of one unit are one. */
const unitOf = ({ units }: Observed, { unitAliases }: DraftSettings): string =>
  nameInTable(units[0]?.[0] ?? '', unitAliases);
