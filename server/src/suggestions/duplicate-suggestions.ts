import { foldName, isNear } from './attribute-names.ts';
import type { CatalogSample, SampledValue } from './catalog-sample.ts';
import {
  countValues,
  nameAttribute,
  type SampledAttribute,
  showValues,
  toDraft,
} from './sampled-attribute.ts';
import { type DuplicateSuggestion, idOf } from './suggestion.ts';

/**
 * Two attributes that mean one: their names differ in case, separators or a letter (Color, Colour), and products have the
 * one or the other. No list of words: near names count only where the values are the same.
 */

/** Of the products of the rarer one. A product with both keeps them apart. */
const MOST_BOTH = 0.05;
/** Of the values of the rarer one, where names are near: Power and Tower share none. */
const LEAST_SHARED = 0.5;
/** As many as a person can look through. */
const SHOWN = 20;
const EXAMPLES = 5;
const SHOWN_MISFITS = 20;
/** Of an attribute (docs/interface.md §11.1). */
const SYNONYMS = 100;

type Pair = readonly [kept: SampledAttribute, dropped: SampledAttribute];

/** @returns the best first */
export function suggestDuplicates(
  attributes: readonly SampledAttribute[],
  sample: CatalogSample,
): DuplicateSuggestion[] {
  const pairs = listNamedAlike(attributes).map(orderPair);
  const both = countBoth(sample, pairs);
  return pairs
    .flatMap((pair, at) => describePair(pair, both[at] ?? 0) ?? [])
    .sort((a, b) => b.evidence.dropped.products - a.evidence.dropped.products || (a.id < b.id ? -1 : 1))
    .slice(0, SHOWN);
}

function listNamedAlike(attributes: readonly SampledAttribute[]): Pair[] {
  const folded = attributes.map((one) => ({ one, name: foldName(one.name) }));
  return folded.flatMap(({ one, name }, at) =>
    folded
      .slice(at + 1)
      .filter((other) => name !== '' && (name === other.name || isNear(name, other.name)))
      .map((other): Pair => [one, other.one]),
  );
}

/** What the ontology has stays, else what more products have. */
function orderPair([a, b]: Pair): Pair {
  const isFirst =
    Number(b.attribute !== undefined) - Number(a.attribute !== undefined) ||
    b.products - a.products ||
    (a.name < b.name ? -1 : 1);
  return isFirst <= 0 ? [a, b] : [b, a];
}

/** @returns the number of products with both, of each pair */
function countBoth(sample: CatalogSample, pairs: readonly Pair[]): number[] {
  const counts = pairs.map(() => 0);
  const keys = pairs.map((pair) => pair.map(({ values }) => new Set(values.map(({ key }) => key))));
  for (const { values } of pairs.length === 0 ? [] : sample.products) {
    const present = new Set(values.map(({ key }) => key));
    for (const [at, sides] of keys.entries()) {
      const isBoth = sides.every((side) => !side.isDisjointFrom(present));
      if (isBoth) counts[at] = (counts[at] ?? 0) + 1;
    }
  }
  return counts;
}

function describePair([kept, dropped]: Pair, withBoth: number): DuplicateSuggestion | undefined {
  const ofKept = new Map(kept.values.map((value) => [foldValue(value), value]));
  const { shared = [], other: misfits = [] } = Object.groupBy(dropped.values, (value) =>
    ofKept.has(foldValue(value)) ? 'shared' : 'other',
  );
  const [values, sharedValues] = [countValues(dropped.values), countValues(shared)];
  const isSameName = foldName(kept.name) === foldName(dropped.name);
  const synonyms = listSynonyms(kept, dropped);
  if (withBoth > MOST_BOTH * Math.min(kept.products, dropped.products)) return undefined;
  if (!isSameName && sharedValues < LEAST_SHARED * values) return undefined;
  if (kept.attribute === undefined || synonyms.length > SYNONYMS) return undefined;
  return {
    ...{ kind: 'duplicate', id: idOf('duplicate', [kept.name, dropped.name].toSorted()) },
    evidence: {
      ...{ kept: nameAttribute(kept), dropped: nameAttribute(dropped), withBoth, sharedValues, values },
      examples: shared.slice(0, EXAMPLES).map((value) => ({
        ...{ value: value.text, kept: ofKept.get(foldValue(value))?.count ?? 0, dropped: value.count },
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

const listSynonyms = (kept: SampledAttribute, dropped: SampledAttribute): string[] => [
  ...(kept.attribute?.synonyms ?? []),
  dropped.name,
  ...(dropped.attribute?.synonyms ?? []),
];
