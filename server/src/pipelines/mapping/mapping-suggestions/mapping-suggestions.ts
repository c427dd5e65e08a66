import { DEFAULT_MAPPINGS } from '../../../formats/formats.ts';
import { type DefaultMapping, isSelector, type SourceRow } from '../../../formats/input/input.ts';
import type { Mapping } from '../mapping-schemas.ts';
import { findTargetSeparator, namesLinks } from './suggestion-lists.ts';
import {
  COLUMN_NAMES,
  describeList,
  findImageSplit,
  findList,
  findListSplit,
  findNumberFormat,
  findPathFormat,
  isAmount,
  isDate,
  isFraction,
  isImageFile,
  isImageUrl,
  isUrl,
  LIST_NAMES,
  PRICE_NAME,
  type SuggestedField,
  type SuggestionReason,
} from './suggestion-values.ts';

export { FoundList, findUnsplit, listLinkColumns } from './suggestion-lists.ts';
export { SuggestionReason } from './suggestion-values.ts';
export { listMissing, listWarnings, PreviewWarning, suggestFormat } from './suggestion-warnings.ts';

/**
 * Columns that are never published, or are not values of the row's product: files that customers pay for, and the
 * variants of a Magento product.
 */
const IGNORED = /^Download \d+ (ID|name|URL)$|^configurable_variation(s|_labels)$/i;

/** More rows add little. Fewer rows are read from a file with very many columns. */
const ROWS = 1_000;
const CELLS = 1_000_000;
const IMAGES = 20;

/**
 * Guesses a mapping from the names of the columns, in English and German, and from their contents. It is a suggestion,
 * which a person checks before any product is written.
 * @param own the format's mapping; takes precedence if the file has its columns
 * @returns a mapping without `identifier` or `name` if no column looks like one, so that a person has to choose
 */
export function suggestMapping(columns: readonly string[], rows: readonly SourceRow[], own?: DefaultMapping) {
  const count = Math.min(ROWS, Math.ceil(CELLS / Math.max(1, columns.length)));
  const sampled = rows.slice(0, count);
  const ignore = columns.filter((name) => IGNORED.test(name));
  const usable = columns.filter((name) => !isSelector(name) && !IGNORED.test(name));
  const chooser = new Chooser(usable.map((name) => sampleColumn(name, sampled)));
  const { brand, categories, images, ...texts } = chooseColumns(chooser, own);
  const keyValues = chooseKeyValues(chooser);
  const fields = Object.entries(texts).flatMap(([field, sample]) => (sample ? [[field, sample.name]] : []));
  const mapping: Partial<Mapping> = {
    ...Object.fromEntries(fields),
    ...(images.length > 0 && {
      images: images.map(({ name, values }) => splitBy(name, findImageSplit(values))),
    }),
    ...(categories && { categories: suggestCategories(categories, columns, own) }),
    attributes: suggestAttributes(chooser, {
      ...(brand && { Brand: brand.name }),
      ...listAttributes(columns, own),
    }),
    ...(keyValues.length > 0 && { keyValues: keyValues.map(suggestKeyValues) }),
    ...(ignore.length > 0 && { ignore }),
  };
  return { mapping, reasons: chooser.reasons };
}

/** The attributes that the format names, except the brand, for which another column may be chosen. */
function listAttributes(columns: readonly string[], own: DefaultMapping | undefined): Record<string, string> {
  const { attributes = '*' } = own ?? {};
  const named = attributes === '*' ? [] : Object.entries(attributes);
  return Object.fromEntries(named.filter(([key, column]) => key !== 'Brand' && columns.includes(column)));
}

/** Fields that take only one column. */
const SINGLE_FIELDS = ['identifier', 'groupIdentifier', 'name', 'productUrl', 'categories', 'brand'] as const;

/**
 * Chooses for every field first by the format and then by names, because a column of paths could be mistaken for names.
 * Values come last.
 */
function chooseColumns(chooser: Chooser, own: DefaultMapping | undefined) {
  const byFormat = Object.fromEntries(
    SINGLE_FIELDS.map((field) => [field, chooser.ofFormat(field, own)[0]]),
  ) as Partial<Record<SuggestedField, ColumnSample>>;
  const ofFormat = chooser.ofFormat('images', own);
  const named = {
    identifier: byFormat.identifier ?? chooseIdentifier(chooser),
    groupIdentifier: byFormat.groupIdentifier ?? chooseNamed(chooser, 'groupIdentifier', hasNoUrl),
    name: byFormat.name ?? chooseNamed(chooser, 'name', isNameText),
    categories:
      byFormat.categories ?? chooseCategories(chooser, chooser.named('categories').find(hasNoUrl), 'name'),
    images: [...ofFormat, ...chooseImages(chooser, IMAGES)],
    productUrl: byFormat.productUrl ?? chooseUrl(chooser),
  };
  return {
    ...named,
    categories: named.categories ?? chooseCategories(chooser, chooser.rest().find(looksLikePaths), 'values'),
    identifier: named.identifier ?? chooseIdentifierByValues(chooser),
    name: named.name ?? chooseNameByValues(chooser),
    brand: byFormat.brand ?? chooseBrand(chooser),
  };
}

const splitBy = (column: string, split: string | undefined) =>
  split === undefined ? column : { column, split, trim: true };

function suggestCategories(
  { name, values }: ColumnSample,
  columns: readonly string[],
  own: DefaultMapping | undefined,
): NonNullable<Mapping['categories']> {
  const defaults = [own?.categories ?? []].flat().filter(({ from }) => columns.includes(from));
  if (defaults.some(({ from }) => from === name))
    return defaults.length === 1 ? (defaults[0] ?? defaults) : defaults;
  const { separator, split } = findPathFormat(values);
  const from = splitBy(name, split);
  return separator === undefined ? { from } : { from, separator };
}

/** For Magento, where a pipe separates several values. A key after a pipe begins a new row. */
function suggestKeyValues({ name, values }: ColumnSample) {
  const isSplit = values.some((value) => /\|(?![^|=,]{1,100}=)/.test(value));
  return { column: name, ...(isSplit && { split: '|' }) };
}

/** All remaining columns, and the columns that need a transformation: numbers and lists. */
function suggestAttributes(
  chooser: Chooser,
  named: Record<string, string>,
): NonNullable<Mapping['attributes']> {
  const special = chooser.rest().flatMap((sample) => {
    const spec = sample.name.length > 255 ? undefined : suggestAttribute(sample, chooser);
    return spec === undefined ? [] : [[sample.name, spec] as const];
  });
  const all = [...Object.entries(named), ...special];
  return all.length === 0 ? '*' : { ...Object.fromEntries(all), '*': '*' };
}

function suggestAttribute({ name, values, isList }: ColumnSample, { reasons }: Chooser) {
  const number = findNumberFormat(values);
  if (number !== undefined) return { column: name, number };
  const named = LIST_NAMES.has(plainName(name)) ? findListSplit(values) : undefined;
  if (named !== undefined) return { column: name, split: named, trim: true };
  const list = isList || namesLinks(name) ? undefined : findList(values);
  if (list === undefined) return undefined;
  const choice = { by: 'values', confidence: 'medium', reason: describeList(list) } as const;
  reasons.push({ field: `attributes.${name}`, column: name, ...choice });
  return { column: name, split: list.separator, trim: true };
}

/** A few rows may repeat an identifier to update it. If more rows do, another column may be meant. */
const DISTINCT_SHARE = 0.9;

const hasNoUrl = ({ values }: ColumnSample) => !values.some(isUrl);
const isAddress = (value: string) => isUrl(value) || value.startsWith('/');
/** A column called Name may contain prices, in a file of prices. */
const isNameText = ({ values }: ColumnSample) => !values.some(isUrl) && !isMostly(values, isAmount);

function isMostly(values: readonly string[], is: (value: string) => boolean): boolean {
  return values.length > 0 && values.filter(is).length * 2 > values.length;
}

/** If the name identifies a column, a few rows may lack or repeat the value. A preview shows this. */
function chooseIdentifier(chosen: Chooser): ColumnSample | undefined {
  const named = chosen.named('identifier').filter(({ values, rows }) => values.length * 2 >= rows);
  const find = (share: number) => named.find(({ distinct, values }) => distinct >= values.length * share);
  const sample = find(DISTINCT_SHARE) ?? find(0.5);
  return chosen.choose('identifier', sample, describeIdentifier);
}

function describeIdentifier({ isUnique, values, distinct, rows }: ColumnSample): Choice {
  const [by, named] = ['name' as const, 'the column has this name'];
  if (isUnique || rows === 0) return { by, confidence: 'high', reason: `${named}, and no value is repeated` };
  const repeated = values.length - distinct;
  const missing = `${named}, but ${rows - values.length} of ${rows} rows have no value`;
  if (repeated === 0) return { by, confidence: 'medium', reason: missing };
  const reason = `${named}, but ${repeated} of ${rows} rows repeat a value: they are variants or updates of a product, and the last row is used`;
  return { by, confidence: distinct >= values.length * DISTINCT_SHARE ? 'medium' : 'low', reason };
}

function chooseIdentifierByValues(chosen: Chooser): ColumnSample | undefined {
  const unique = chosen.rest().find(looksLikeIdentifier);
  if (unique !== undefined)
    return chosen.choose('identifier', unique, byValues('medium', 'no value is repeated'));
  const named = chosen.named('identifier').find(({ values }) => values.length > 0);
  return chosen.choose('identifier', named, describeIdentifier);
}

const NAMED: Choice = { by: 'name', confidence: 'high', reason: 'the column has this name' };
const byValues = (confidence: Choice['confidence'], reason: string) =>
  ({ by: 'values', confidence, reason }) as const;

const chooseNamed = (chosen: Chooser, field: SuggestedField, fits: (sample: ColumnSample) => boolean) =>
  chosen.choose(field, chosen.named(field).find(fits), NAMED);

function chooseNameByValues(chosen: Chooser): ColumnSample | undefined {
  const texts = chosen.rest().filter(looksLikeName);
  const [sample] = texts.sort((a, b) => b.distinct - a.distinct);
  return chosen.choose('name', sample, byValues('low', 'it contains texts of several words'));
}

function chooseUrl(chosen: Chooser): ColumnSample | undefined {
  const named = chooseNamed(chosen, 'productUrl', ({ values }) => values.every(isAddress));
  if (named !== undefined) return named;
  const sample = chosen.rest().find(({ values }) => values.length > 0 && values.every(isUrl));
  return chosen.choose('productUrl', sample, byValues('medium', 'each value is an address'));
}

const chooseCategories = (chosen: Chooser, sample: ColumnSample | undefined, by: 'name' | 'values') =>
  chosen.choose('categories', sample, ({ values }) => {
    const { confidence, reason } = findPathFormat(values);
    return { by, confidence, reason };
  });

/** Without a column called Brand, the manufacturer is used. */
function chooseBrand(chosen: Chooser): ColumnSample | undefined {
  const [sample] = chosen.named('brand').filter(({ values, rows }) => values.length > 0 || rows === 0);
  const isPlain = sample?.name.toLowerCase() === 'brand';
  return chosen.choose('brand', isPlain ? undefined : sample, { ...NAMED, confidence: 'medium' });
}

/** Chooses columns whose cells contain attributes with their keys, such as `color=red,size=M`. */
function chooseKeyValues(chosen: Chooser): ColumnSample[] {
  const isPairs = (value: string) => /^[^=,\s][^=,]{0,100}=[^=]{0,5000},[^=,\s][^=,]{0,100}=/.test(value);
  const samples = chosen.rest().filter(({ values }) => isMostly(values, isPairs));
  return chosen.chooseAll('keyValues', samples, byValues('medium', 'its cells contain keys and values'));
}

/** A column whose name means the first of all images comes first: image, image 2, additional image. */
function chooseImages(chosen: Chooser, most: number): ColumnSample[] {
  const candidates = chosen.rest().filter((sample) => isNamedImage(sample) || isSeenImage(sample));
  const images = candidates.sort((a, b) => placeOf(a.name) - placeOf(b.name)).slice(0, most);
  const isSeen = byValues('medium', 'each value is a picture');
  return chosen.chooseAll('images', images, (image) => (isNamedImage(image) ? NAMED : isSeen));
}

const isNamedImage = ({ name, values }: ColumnSample) =>
  rankName(name, 'images') >= 0 &&
  values.every((value) => !/\s/.test(value) || isUrl(value) || findImageSplit([value]) !== undefined);
const isSeenImage = ({ values }: ColumnSample) =>
  values.length > 0 && (values.every(isImageUrl) || values.every(isListOfImages));
const isListOfImages = (value: string) => isImageFile(value) || findImageSplit([value]) !== undefined;

/** Additional images come last, ordered by number. */
function placeOf(name: string): number {
  const plain = plainName(name);
  const isFurther = /addition|weitere|zusatz|more|thumb/.test(plain);
  return (isFurther ? 1_000 : 0) + Number(/(\d{1,2})$/.exec(plain)?.[1] ?? 0);
}

function looksLikeIdentifier({ name, isUnique, values }: ColumnSample): boolean {
  // An identifier is a short word.
  const isWord = (value: string) => value.length <= 64 && !/\s/.test(value) && !isUrl(value);
  const isOther = (value: string) => isFraction(value) || isDate(value);
  return isUnique && !PRICE_NAME.test(name) && values.every(isWord) && !values.some(isOther);
}

function looksLikeName({ name, values }: ColumnSample): boolean {
  const isText = (value: string) =>
    /\p{L}{3}/u.test(value) &&
    value.length <= 200 &&
    !value.includes('<') &&
    !isUrl(value) &&
    !isAmount(value);
  const hasWords = values.some((value) => value.includes(' '));
  const isOther = PRICE_NAME.test(name) || LIST_NAMES.has(plainName(name));
  return values.length > 0 && !isOther && values.every(isText) && hasWords;
}

const looksLikePaths = ({ values }: ColumnSample): boolean =>
  values.length > 1 && values.every((value) => /\s[>»]\s/.test(value));

interface ColumnSample {
  readonly name: string;
  /** The values of all rows, without empty values. */
  readonly values: readonly string[];
  /** The number of different values. */
  readonly distinct: number;
  /** The number of rows of the file that were read. */
  readonly rows: number;
  /** Whether every row has a value, and no two rows have the same value. */
  readonly isUnique: boolean;
  /** Whether a row has several values, which the file itself separates. */
  readonly isList: boolean;
}

/** After the listed names come the columns that formats map by default. */
const NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(COLUMN_NAMES).map(([field, names]) => {
    const own = DEFAULT_MAPPINGS.flatMap((mapping) => columnsOf(mapping, field as SuggestedField));
    return [field, [...names, ...own.map(plainName)]];
  }),
);

/** @returns the columns that a format maps to a field by default */
function columnsOf(mapping: DefaultMapping, field: SuggestedField): readonly string[] {
  if (field === 'brand') {
    const { attributes = '*' } = mapping;
    return attributes === '*' ? [] : [attributes.Brand ?? []].flat();
  }
  if (field === 'categories') return [mapping.categories ?? []].flat().map(({ from }) => from);
  return [mapping[field] ?? []].flat();
}

function sampleColumn(name: string, rows: readonly SourceRow[]): ColumnSample {
  const cells = rows.map(({ values }) => [values[name] ?? []].flat().filter((text) => text !== ''));
  const values = cells.flat();
  const distinct = new Set(values).size;
  const isUnique = cells.every(({ length }) => length === 1) && distinct === rows.length;
  const isList = cells.some(({ length }) => length > 1);
  return { name, values, distinct, rows: rows.length, isUnique: rows.length > 0 && isUnique, isList };
}

type Choice = Pick<SuggestionReason, 'by' | 'confidence' | 'reason'>;
type ChoiceOf = Choice | ((sample: ColumnSample) => Choice);

/** Chooses each column at most once. */
class Chooser {
  readonly reasons: SuggestionReason[] = [];
  readonly #samples: readonly ColumnSample[];
  readonly #chosen = new Set<string>();

  constructor(samples: readonly ColumnSample[]) {
    this.#samples = samples;
  }

  rest(): ColumnSample[] {
    return this.#samples.filter(({ name }) => !this.#chosen.has(name));
  }

  /** @returns the columns whose names fit, the most certain first */
  named(field: SuggestedField): ColumnSample[] {
    return this.rest()
      .map((sample) => ({ sample, rank: rankName(sample.name, field) }))
      .filter(({ rank }) => rank >= 0)
      .sort((a, b) => a.rank - b.rank)
      .map(({ sample }) => sample);
  }

  /** @returns the column, if there is one */
  choose(field: string, sample: ColumnSample | undefined, choice: ChoiceOf): ColumnSample | undefined {
    return sample && this.chooseAll(field, [sample], choice)[0];
  }

  chooseAll(field: string, samples: ColumnSample[], choice: ChoiceOf): ColumnSample[] {
    for (const sample of samples) {
      this.#chosen.add(sample.name);
      const why = typeof choice === 'function' ? choice(sample) : choice;
      this.reasons.push({ field, column: sample.name, ...why });
    }
    return samples;
  }

  /** Chooses the columns that the format maps by default, if the file has values in them. */
  ofFormat(field: SuggestedField, own: DefaultMapping | undefined): ColumnSample[] {
    const names = own === undefined ? [] : columnsOf(own, field);
    const samples = this.rest().filter(({ name, values }) => names.includes(name) && values.length > 0);
    const reason = 'the format gives this column this name';
    return this.chooseAll(field, samples, { by: 'format', confidence: 'high', reason });
  }
}

/** @returns the position in the list of names; -1 if the list does not contain the name */
function rankName(column: string, field: SuggestedField): number {
  // In JSON and XML, a path or prefix precedes the name, such as `product/sku` or `g:id`.
  const spellings = [column, column.split(/[/.:@]/).at(-1) ?? ''].map(plainName);
  const plain = field === 'images' ? spellings.map((name) => name.replace(/\d+$/, '')) : spellings;
  return NAMES.get(field)?.findIndex((name) => plain.includes(name)) ?? -1;
}

/** `Artikel-Nr.`, `artikel_nr` and `ArtikelNr` are the same name. */
function plainName(name: string): string {
  const folded = name.toLowerCase().replaceAll('ä', 'ae').replaceAll('ö', 'oe').replaceAll('ü', 'ue');
  return folded.replaceAll('ß', 'ss').replace(/[^a-z0-9]/g, '');
}

interface Suggested {
  readonly mapping: Partial<Mapping>;
  readonly reasons: readonly SuggestionReason[];
}

/** A table usually has two columns, with the source's value first. */
export const suggestPairs = ([source, target]: readonly string[]): Suggested => ({
  mapping: { ...(source !== undefined && { source }), ...(target !== undefined && { target }) },
  reasons: [],
});

/** Guesses a mapping of links: the identifier of the products, and the columns that name other products. */
export function suggestLinks(
  columns: readonly string[],
  rows: readonly SourceRow[],
  { mapping: { identifier }, reasons }: Suggested,
): Suggested {
  const targets = columns.filter(namesLinks);
  const [first] = targets;
  const isList = targets.some((name) => !name.startsWith('REFERENCE.'));
  const reason = 'names other products; remove columns that belong to another relation';
  const choice: Choice = { by: 'name', confidence: 'medium', reason };
  return {
    mapping: {
      ...(identifier !== undefined && { source: identifier }),
      ...(first !== undefined && { targets: targets.length === 1 ? first : targets }),
      ...(first !== undefined && isList && { separator: findTargetSeparator(rows, targets) }),
    },
    reasons: [
      ...reasons.flatMap((reason) => (reason.field === 'identifier' ? [{ ...reason, field: 'source' }] : [])),
      ...targets.map((column) => ({ field: 'targets', column, ...choice })),
    ],
  };
}
