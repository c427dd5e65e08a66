import { DEFAULT_MAPPINGS, type DefaultMapping, type SourceRow } from '../../formats/formats.ts';
import type { Mapping } from '../mapping-schemas.ts';
import { COLUMN_NAMES, type SuggestedField } from './suggestion-names.ts';
import { findImageSplit, findNumberFormat, findPathFormat, isImageUrl, isUrl } from './suggestion-values.ts';

export interface SuggestedMapping {
  /** Without `identifier` or `name` where no column looks like one: then a person has to choose. */
  readonly mapping: Partial<Mapping>;
  readonly reasons: readonly SuggestionReason[];
}

export interface SuggestionReason {
  readonly field: SuggestedField;
  readonly column: string;
  /** Whether the name of the column says so or what is in it. */
  readonly by: 'name' | 'values';
}

interface ColumnSample {
  readonly name: string;
  /** Of all rows, empty ones left out. */
  readonly values: readonly string[];
  /** Every row has a value and no two the same. */
  readonly isUnique: boolean;
}

/** Behind the names that are listed come the columns that formats map by themselves. */
const NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(COLUMN_NAMES).map(([field, names]) => {
    const own = DEFAULT_MAPPINGS.flatMap((mapping) => columnsOf(mapping[field as SuggestedField]));
    return [field, [...names, ...own.map(plainName)]];
  }),
);

function columnsOf(spec: DefaultMapping[SuggestedField]): readonly string[] {
  if (spec === undefined) return [];
  return typeof spec === 'object' && 'from' in spec ? [spec.from] : [spec].flat();
}

/** Twenty rows are what a preview shows; more say little more. */
const ROWS = 100;
const IMAGES = 20;
/** An identifier is a short word. */
const IDENTIFIER_LENGTH = 64;

/**
 * Guesses a mapping from the names of the columns, in English and German, and from what is in them. It is a suggestion: a
 * person looks at it before anything is written.
 */
export function suggestMapping(columns: readonly string[], rows: readonly SourceRow[]): SuggestedMapping {
  const samples = columns.map((name) => sampleColumn(name, rows.slice(0, ROWS)));
  const chosen = new Chooser(samples);
  const hasNoUrl = ({ values }: ColumnSample) => !values.some(isUrl);
  const isAddress = (value: string) => isUrl(value) || value.startsWith('/');
  // First what names say, for every field: a column of paths would pass for names.
  const named = {
    identifier: chosen.byName('identifier', ({ values }) => isMostlyThere(values, rows.length)),
    groupIdentifier: chosen.byName('groupIdentifier', hasNoUrl),
    name: chosen.byName('name', hasNoUrl),
    categories: chosen.byName('categories', hasNoUrl),
  };
  const images = chosen.allImages();
  const productUrl =
    chosen.byName('productUrl', ({ values }) => values.every(isAddress)) ??
    chosen.byValues('productUrl', ({ values }) => values.length > 0 && values.every(isUrl));
  const categories = named.categories ?? chosen.byValues('categories', looksLikePaths);
  const identifier =
    named.identifier ??
    chosen.byValues('identifier', looksLikeIdentifier) ??
    chosen.byName('identifier', ({ values }) => values.length > 0);
  const name = named.name ?? chosen.byValues('name', looksLikeName);
  const { groupIdentifier } = named;
  const mapping: Partial<Mapping> = {
    ...(identifier && { identifier: identifier.name }),
    ...(groupIdentifier && { groupIdentifier: groupIdentifier.name }),
    ...(name && { name: name.name }),
    ...(productUrl && { productUrl: productUrl.name }),
    ...(images.length > 0 && { images: images.map(suggestImage) }),
    ...(categories && { categories: suggestCategories(categories) }),
    attributes: suggestAttributes(chosen.rest()),
  };
  return { mapping, reasons: chosen.reasons };
}

/** Where the name says what a column is, a few rows may lack it; they are what a preview is for. */
const isMostlyThere = (values: readonly string[], rows: number) =>
  values.length * 2 >= rows && new Set(values).size === values.length;

function sampleColumn(name: string, rows: readonly SourceRow[]): ColumnSample {
  const cells = rows.map(({ values }) => [values[name] ?? []].flat().filter((text) => text !== ''));
  const isUnique = cells.every(({ length }) => length === 1) && new Set(cells.flat()).size === rows.length;
  return { name, values: cells.flat(), isUnique: rows.length > 0 && isUnique };
}

/** Each column is chosen once. */
class Chooser {
  readonly reasons: SuggestionReason[] = [];
  readonly #samples: readonly ColumnSample[];
  readonly #chosen = new Set<string>();

  constructor(samples: readonly ColumnSample[]) {
    this.#samples = samples;
  }

  /** The names of a field stand with the surest first. */
  byName(field: SuggestedField, fits: (sample: ColumnSample) => boolean): ColumnSample | undefined {
    const ranked = this.rest()
      .map((sample) => ({ sample, rank: rankName(sample.name, field) }))
      .filter(({ sample, rank }) => rank >= 0 && fits(sample))
      .sort((a, b) => a.rank - b.rank);
    return this.#choose(ranked[0]?.sample, field, 'name');
  }

  byValues(field: SuggestedField, fits: (sample: ColumnSample) => boolean): ColumnSample | undefined {
    return this.#choose(this.rest().find(fits), field, 'values');
  }

  /** A column named as the first of all images goes first: image, image 2, additional image. */
  allImages(): ColumnSample[] {
    const found = this.rest().filter((sample) => isNamedImage(sample) || isSeenImage(sample));
    const images = found.sort((a, b) => placeOf(a.name) - placeOf(b.name)).slice(0, IMAGES);
    for (const image of images) this.#choose(image, 'images', isNamedImage(image) ? 'name' : 'values');
    return images;
  }

  rest(): ColumnSample[] {
    return this.#samples.filter(({ name }) => !this.#chosen.has(name));
  }

  #choose(
    sample: ColumnSample | undefined,
    field: SuggestedField,
    by: 'name' | 'values',
  ): ColumnSample | undefined {
    if (sample === undefined) return undefined;
    this.#chosen.add(sample.name);
    this.reasons.push({ field, column: sample.name, by });
    return sample;
  }
}

/** @returns the place in the list of names, -1 for a name that is none of them */
function rankName(column: string, field: SuggestedField): number {
  // What leads to a value in JSON and XML stands before it, as `product/sku`, `g:id`.
  const spellings = [column, column.split(/[/.:@]/).at(-1) ?? ''].map(plainName);
  const wanted = field === 'images' ? spellings.map((name) => name.replace(/\d+$/, '')) : spellings;
  return NAMES.get(field)?.findIndex((name) => wanted.includes(name)) ?? -1;
}

const isNamedImage = ({ name, values }: ColumnSample) =>
  rankName(name, 'images') >= 0 && values.every((value) => !/\s/.test(value) || isUrl(value));
const isSeenImage = ({ values }: ColumnSample) => values.length > 0 && values.every(isImageUrl);

/** `Artikel-Nr.`, `artikel_nr` and `ArtikelNr` are the same name. */
function plainName(name: string): string {
  const folded = name.toLowerCase().replaceAll('ä', 'ae').replaceAll('ö', 'oe').replaceAll('ü', 'ue');
  return folded.replaceAll('ß', 'ss').replace(/[^a-z0-9]/g, '');
}

/** Images named as additional ones stand behind, then by their number. */
function placeOf(name: string): number {
  const plain = plainName(name);
  const isFurther = /addition|weitere|zusatz|more|thumb/.test(plain);
  return (isFurther ? 1_000 : 0) + Number(/(\d{1,2})$/.exec(plain)?.[1] ?? 0);
}

function looksLikeIdentifier({ isUnique, values }: ColumnSample): boolean {
  return (
    isUnique &&
    values.every((value) => value.length <= IDENTIFIER_LENGTH && !/\s/.test(value) && !isUrl(value))
  );
}

function looksLikeName({ values }: ColumnSample): boolean {
  const isText = (value: string) => /\p{L}{3}/u.test(value) && value.length <= 200 && !isUrl(value);
  return values.length > 0 && values.every(isText) && values.some((value) => value.includes(' '));
}

function looksLikePaths({ values }: ColumnSample): boolean {
  return values.length > 1 && values.every((value) => /\s[>»]\s/.test(value));
}

function suggestImage({ name, values }: ColumnSample) {
  const split = findImageSplit(values);
  return split === undefined ? name : { column: name, split, trim: true };
}

function suggestCategories({ name, values }: ColumnSample): NonNullable<Mapping['categories']> {
  const { separator, split } = findPathFormat(values);
  const from = split === undefined ? name : { column: name, split, trim: true };
  return separator === undefined ? { from } : { from, separator };
}

/** All that is left, and numbers that the service would not read as they are written. */
function suggestAttributes(rest: readonly ColumnSample[]): NonNullable<Mapping['attributes']> {
  const numbers = rest.flatMap(({ name, values }) => {
    const number = findNumberFormat(values);
    return number === undefined || name.length > 255 ? [] : [[name, { column: name, number }] as const];
  });
  return numbers.length === 0 ? '*' : { ...Object.fromEntries(numbers), '*': '*' };
}
