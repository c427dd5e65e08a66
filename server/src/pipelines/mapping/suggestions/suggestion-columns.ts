import { DEFAULT_MAPPINGS, type DefaultMapping, type SourceRow } from '../../formats/formats.ts';
import { COLUMN_NAMES, type SuggestedField } from './suggestion-names.ts';
import type { Confidence, SuggestionReason } from './suggestion-reasons.ts';

export interface ColumnSample {
  readonly name: string;
  /** Of all rows, empty ones left out. */
  readonly values: readonly string[];
  /** How many of them differ. */
  readonly distinct: number;
  /** Of the file, as far as it was read. */
  readonly rows: number;
  /** Every row has a value and no two the same. */
  readonly isUnique: boolean;
}

/** Behind the names that are listed come the columns that formats map by themselves. */
const NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(COLUMN_NAMES).map(([field, names]) => {
    const own = DEFAULT_MAPPINGS.flatMap((mapping) => columnsOf(mapping, field as SuggestedField));
    return [field, [...names, ...own.map(plainName)]];
  }),
);

/** @returns the columns that a format maps to a field by itself */
export function columnsOf(mapping: DefaultMapping, field: SuggestedField): readonly string[] {
  if (field === 'brand') {
    const { attributes = '*' } = mapping;
    return attributes === '*' ? [] : [attributes.Brand ?? []].flat();
  }
  if (field === 'categories') return [mapping.categories ?? []].flat().map(({ from }) => from);
  return [mapping[field] ?? []].flat();
}

export function sampleColumn(name: string, rows: readonly SourceRow[]): ColumnSample {
  const cells = rows.map(({ values }) => [values[name] ?? []].flat().filter((text) => text !== ''));
  const values = cells.flat();
  const distinct = new Set(values).size;
  const isUnique = cells.every(({ length }) => length === 1) && distinct === rows.length;
  return { name, values, distinct, rows: rows.length, isUnique: rows.length > 0 && isUnique };
}

export interface Choice {
  readonly by: SuggestionReason['by'];
  readonly confidence: Confidence;
  readonly reason: string;
}

/** Each column is chosen once. */
export class Chooser {
  readonly reasons: SuggestionReason[] = [];
  readonly #samples: readonly ColumnSample[];
  readonly #chosen = new Set<string>();

  constructor(samples: readonly ColumnSample[]) {
    this.#samples = samples;
  }

  rest(): ColumnSample[] {
    return this.#samples.filter(({ name }) => !this.#chosen.has(name));
  }

  /** @returns the columns that may be meant by their names, the surest first */
  named(field: SuggestedField): ColumnSample[] {
    return this.rest()
      .map((sample) => ({ sample, rank: rankName(sample.name, field) }))
      .filter(({ rank }) => rank >= 0)
      .sort((a, b) => a.rank - b.rank)
      .map(({ sample }) => sample);
  }

  choose(field: SuggestionReason['field'], sample: ColumnSample, choice: Choice): ColumnSample {
    this.#chosen.add(sample.name);
    this.reasons.push({ field, column: sample.name, ...choice });
    return sample;
  }

  /** The columns that the format maps by itself, as far as the file has them with values. */
  ofFormat(field: SuggestedField, own: DefaultMapping | undefined): ColumnSample[] {
    const names = own === undefined ? [] : columnsOf(own, field);
    const found = this.rest().filter(({ name, values }) => names.includes(name) && values.length > 0);
    const reason = 'the format names this column so';
    for (const sample of found) this.choose(field, sample, { by: 'format', confidence: 'high', reason });
    return found;
  }
}

/** @returns the place in the list of names, -1 for a name that is none of them */
export function rankName(column: string, field: SuggestedField): number {
  // What leads to a value in JSON and XML stands before it, as `product/sku`, `g:id`.
  const spellings = [column, column.split(/[/.:@]/).at(-1) ?? ''].map(plainName);
  const wanted = field === 'images' ? spellings.map((name) => name.replace(/\d+$/, '')) : spellings;
  return NAMES.get(field)?.findIndex((name) => wanted.includes(name)) ?? -1;
}

/** `Artikel-Nr.`, `artikel_nr` and `ArtikelNr` are the same name. */
export function plainName(name: string): string {
  const folded = name.toLowerCase().replaceAll('ä', 'ae').replaceAll('ö', 'oe').replaceAll('ü', 'ue');
  return folded.replaceAll('ß', 'ss').replace(/[^a-z0-9]/g, '');
}
