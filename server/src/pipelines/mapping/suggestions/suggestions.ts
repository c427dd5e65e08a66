import type { DefaultMapping, SourceRow } from '../../formats/formats.ts';
import type { Mapping } from '../mapping-schemas.ts';
import {
  chooseBrand,
  chooseCategories,
  chooseIdentifier,
  chooseIdentifierByValues,
  chooseImages,
  chooseKeyValues,
  chooseNameByValues,
  chooseNamed,
  chooseUrl,
  hasNoUrl,
  isNameText,
  looksLikePaths,
} from './suggestion-choices.ts';
import { Chooser, type ColumnSample, plainName, sampleColumn } from './suggestion-columns.ts';
import { LIST_NAMES, type SuggestedField } from './suggestion-names.ts';
import { findPathFormat } from './suggestion-paths.ts';
import type { SuggestionReason } from './suggestion-reasons.ts';
import { findImageSplit, findListSplit, findNumberFormat } from './suggestion-values.ts';

export { type SuggestedFormat, suggestFormat } from './suggestion-format.ts';
export { suggestLinks } from './suggestion-links.ts';
export { listMissing, listWarnings, type PreviewWarning } from './suggestion-warnings.ts';

export interface SuggestedMapping {
  /** Without `identifier` or `name` where no column looks like one: then a person has to choose. */
  readonly mapping: Partial<Mapping>;
  readonly reasons: readonly SuggestionReason[];
}

/** More rows say little more; in a file of very many columns fewer have to do. */
const ROWS = 1_000;
const CELLS = 1_000_000;
const IMAGES = 20;

/**
 * Guesses a mapping from the names of the columns, in English and German, and from what is in them. It is a suggestion: a
 * person looks at it before anything is written.
 * @param own  of the format; it goes first where the file has its columns
 */
export function suggestMapping(
  columns: readonly string[],
  rows: readonly SourceRow[],
  own?: DefaultMapping,
): SuggestedMapping {
  const count = Math.min(ROWS, Math.ceil(CELLS / Math.max(1, columns.length)));
  const sampled = rows.slice(0, count);
  const samples = columns.map((name) => sampleColumn(name, sampled));
  const chooser = new Chooser(samples);
  const { brand, categories, images, ...texts } = chooseColumns(chooser, own);
  const keyValues = chooseKeyValues(chooser);
  const fields = Object.entries(texts).filter(([, sample]) => sample !== undefined);
  const mapping: Partial<Mapping> = {
    ...Object.fromEntries(fields.map(([field, sample]) => [field, sample?.name])),
    ...(images.length > 0 && { images: images.map(suggestImage) }),
    ...(categories && { categories: suggestCategories(categories, columns, own) }),
    attributes: suggestAttributes(chooser.rest(), { ...nameBrand(brand), ...listAttributes(columns, own) }),
    ...(keyValues.length > 0 && { keyValues: keyValues.map(suggestKeyValues) }),
  };
  return { mapping, reasons: chooser.reasons };
}

const nameBrand = (brand: ColumnSample | undefined): Record<string, string> =>
  brand === undefined ? {} : { Brand: brand.name };

/** Attributes that the format names, apart from the brand, which may be another column. */
function listAttributes(columns: readonly string[], own: DefaultMapping | undefined): Record<string, string> {
  const { attributes = '*' } = own ?? {};
  const named = attributes === '*' ? [] : Object.entries(attributes);
  return Object.fromEntries(named.filter(([key, column]) => key !== 'Brand' && columns.includes(column)));
}

/** First what the format says, then names, for every field: a column of paths would pass for names. Values come last. */
function chooseColumns(chooser: Chooser, own: DefaultMapping | undefined) {
  const ofFormat = (field: SuggestedField) => chooser.ofFormat(field, own)[0];
  const given = {
    identifier: ofFormat('identifier'),
    groupIdentifier: ofFormat('groupIdentifier'),
    name: ofFormat('name'),
    productUrl: ofFormat('productUrl'),
    categories: ofFormat('categories'),
    brand: ofFormat('brand'),
    images: chooser.ofFormat('images', own),
  };
  const named = {
    identifier: given.identifier ?? chooseIdentifier(chooser),
    groupIdentifier: given.groupIdentifier ?? chooseNamed(chooser, 'groupIdentifier', hasNoUrl),
    name: given.name ?? chooseNamed(chooser, 'name', isNameText),
    categories:
      given.categories ?? chooseCategories(chooser, chooser.named('categories').find(hasNoUrl), 'name'),
    images: [...given.images, ...chooseImages(chooser, IMAGES)],
    productUrl: given.productUrl ?? chooseUrl(chooser),
  };
  return {
    ...named,
    categories: named.categories ?? chooseCategories(chooser, chooser.rest().find(looksLikePaths), 'values'),
    identifier: named.identifier ?? chooseIdentifierByValues(chooser),
    name: named.name ?? chooseNameByValues(chooser),
    brand: given.brand ?? chooseBrand(chooser),
  };
}

function suggestImage({ name, values }: ColumnSample) {
  const split = findImageSplit(values);
  return split === undefined ? name : { column: name, split, trim: true };
}

function suggestCategories(
  { name, values }: ColumnSample,
  columns: readonly string[],
  own: DefaultMapping | undefined,
): NonNullable<Mapping['categories']> {
  const given = [own?.categories ?? []].flat().filter(({ from }) => columns.includes(from));
  if (given.some(({ from }) => from === name))
    return given.length === 1 ? (given.slice(0, 1)[0] ?? given) : given;
  const { separator, split } = findPathFormat(values);
  const from = split === undefined ? name : { column: name, split, trim: true };
  return separator === undefined ? { from } : { from, separator };
}

/** Of Magento, where several values stand between pipes. */
function suggestKeyValues({ name, values }: ColumnSample) {
  return { column: name, ...(values.some((value) => value.includes('|')) && { split: '|' }) };
}

/** All that is left, and what the service would not read as it is written: numbers and lists. */
function suggestAttributes(
  rest: readonly ColumnSample[],
  named: Record<string, string>,
): NonNullable<Mapping['attributes']> {
  const special = rest.flatMap((sample) => {
    const spec = suggestAttribute(sample);
    return spec === undefined || sample.name.length > 255 ? [] : [[sample.name, spec] as const];
  });
  const all = [...Object.entries(named), ...special];
  return all.length === 0 ? '*' : { ...Object.fromEntries(all), '*': '*' };
}

function suggestAttribute({ name, values }: ColumnSample) {
  const number = findNumberFormat(values);
  if (number !== undefined) return { column: name, number };
  const split = LIST_NAMES.has(plainName(name)) ? findListSplit(values) : undefined;
  return split === undefined ? undefined : { column: name, split, trim: true };
}
