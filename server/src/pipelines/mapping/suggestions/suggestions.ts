import type { DefaultMapping, SourceRow } from '../../formats/formats.ts';
import type { Mapping } from '../mapping-schemas.ts';
import {
  chooseBrand,
  chooseCategories,
  chooseIdentifier,
  chooseIdentifierByValues,
  chooseImages,
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
export { listMissing, listWarnings, type PreviewWarning } from './suggestion-warnings.ts';

export interface SuggestedMapping {
  /** Without `identifier` or `name` where no column looks like one: then a person has to choose. */
  readonly mapping: Partial<Mapping>;
  readonly reasons: readonly SuggestionReason[];
}

/** More rows say little more. */
const ROWS = 1_000;
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
  const samples = columns.map((name) => sampleColumn(name, rows.slice(0, ROWS)));
  const chooser = new Chooser(samples);
  const { brand, categories, images, ...texts } = chooseColumns(chooser, own);
  const columnOf = (sample: ColumnSample | undefined) => sample?.name;
  const fields = Object.entries(texts).filter(([, sample]) => sample !== undefined);
  const mapping: Partial<Mapping> = {
    ...Object.fromEntries(fields.map(([field, sample]) => [field, columnOf(sample)])),
    ...(images.length > 0 && { images: images.map(suggestImage) }),
    ...(categories && { categories: suggestCategories(categories, own) }),
    attributes: suggestAttributes(chooser.rest(), brand),
  };
  return { mapping, reasons: chooser.reasons };
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
  own: DefaultMapping | undefined,
): NonNullable<Mapping['categories']> {
  if (own?.categories?.from === name) return own.categories;
  const { separator, split } = findPathFormat(values);
  const from = split === undefined ? name : { column: name, split, trim: true };
  return separator === undefined ? { from } : { from, separator };
}

/** All that is left, and what the service would not read as it is written: numbers and lists. */
function suggestAttributes(
  rest: readonly ColumnSample[],
  brand: ColumnSample | undefined,
): NonNullable<Mapping['attributes']> {
  const special = rest.flatMap((sample) => {
    const spec = suggestAttribute(sample);
    return spec === undefined || sample.name.length > 255 ? [] : [[sample.name, spec] as const];
  });
  const named = brand === undefined ? special : [['Brand', brand.name] as const, ...special];
  return named.length === 0 ? '*' : { ...Object.fromEntries(named), '*': '*' };
}

function suggestAttribute({ name, values }: ColumnSample) {
  const number = findNumberFormat(values);
  if (number !== undefined) return { column: name, number };
  const split = LIST_NAMES.has(plainName(name)) ? findListSplit(values) : undefined;
  return split === undefined ? undefined : { column: name, split, trim: true };
}
