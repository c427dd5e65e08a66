import { type Attribute, indexByKey, type Ontology } from '../catalog/catalog.ts';
import type { CatalogSample, SampledValue } from './catalog-sample.ts';
import type { CountedValue, DraftedAttribute, NamedAttribute } from './suggestion.ts';

/** An attribute of the ontology, or a key that it does not know, with what the sample has of it. */
export interface SampledAttribute {
  readonly name: string;
  readonly attribute: Attribute | undefined;
  /** The most frequent first; one of each key. */
  readonly values: readonly SampledValue[];
  /** With a value. */
  readonly products: number;
}

/** @returns all that products have values of */
export function listSampled(sample: CatalogSample, { attributes }: Ontology): SampledAttribute[] {
  const byKey = indexByKey(attributes);
  const nameOf = (key: string) => byKey.get(key)?.name ?? key;
  const keys = Map.groupBy(sample.listKeys(), nameOf);
  const products = countProducts(sample, nameOf);
  return [...keys].map(([name, itsKeys]) => ({
    name,
    attribute: byKey.get(name),
    values: itsKeys.flatMap((key) => [...sample.valuesOf(key)]).sort(byCount),
    products: products.get(name) ?? 0,
  }));
}

const byCount = (a: SampledValue, b: SampledValue) => b.count - a.count || (a.text < b.text ? -1 : 1);

function countProducts(sample: CatalogSample, nameOf: (key: string) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { values } of sample.products) {
    for (const name of new Set(values.map(({ key }) => nameOf(key))))
      counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

export const countValues = (values: readonly SampledValue[]): number =>
  values.reduce((sum, { count }) => sum + count, 0);

const SHOWN = 5;

/** @returns the first values as evidence */
export const showValues = (values: readonly SampledValue[], most = SHOWN): CountedValue[] =>
  values.slice(0, most).map(({ text, count, identifiers }) => ({ value: text, count, identifiers }));

export const nameAttribute = ({ name, attribute, products }: SampledAttribute): NamedAttribute => ({
  ...{ id: attribute?.id ?? null, name, type: attribute?.type ?? null, products },
});

/** @returns an attribute as a draft has it, without what only the service sets */
export function toDraft(attribute: Attribute): DraftedAttribute {
  const { reason: _, typing: __, unitAliases: ___, id, ...drafted } = attribute;
  return { ...(id > 0 && { id }), ...drafted };
}
