import type { Ontology, OpenTally } from '../catalog/catalog.ts';
import { suggestAttributes } from './attribute-suggestions.ts';
import { CatalogSample } from './catalog-sample.ts';
import { suggestDuplicates } from './duplicate-suggestions.ts';
import { suggestRelations } from './relation-suggestions.ts';
import { listSampled } from './sampled-attribute.ts';
import type { Suggestion } from './suggestion.ts';

/** What the scanning thread counts for suggestions, and how it ends. */
export interface SuggestedCount {
  readonly suggestions: readonly Suggestion[];
}

/** Runs in the scanning thread, beside the coverage of the ontology. */
export const openSuggestionTally: OpenTally = (ontology, { locale }) => {
  const sample = new CatalogSample();
  return {
    add: (product) => sample.add(product),
    describe: (): SuggestedCount => ({ suggestions: suggestAll(sample, ontology, locale) }),
  };
};

/** @returns by kind, of each the best first */
export function suggestAll(sample: CatalogSample, ontology: Ontology, locale: string): Suggestion[] {
  const attributes = listSampled(sample, ontology);
  const duplicates = suggestDuplicates(attributes, sample);
  const dropped = new Set(duplicates.map(({ evidence }) => evidence.dropped.name));
  const single = attributes.filter(({ name }) => !dropped.has(name));
  return [
    ...suggestRelations(sample, ontology),
    ...suggestAttributes(single, ontology, { locale }),
    ...duplicates,
  ];
}
