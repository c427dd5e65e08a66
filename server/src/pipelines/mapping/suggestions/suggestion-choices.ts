/** How the column of each field is chosen: by its name if that says so, otherwise by what is in it. */
import { type Chooser, type ColumnSample, plainName, rankName } from './suggestion-columns.ts';
import { LIST_NAMES, PRICE_NAME, type SuggestedField } from './suggestion-names.ts';
import { findPathFormat } from './suggestion-paths.ts';
import type { SuggestionReason } from './suggestion-reasons.ts';
import {
  findImageSplit,
  isAmount,
  isDate,
  isFraction,
  isImageFile,
  isImageUrl,
  isUrl,
} from './suggestion-values.ts';

/** An identifier is a short word. */
const IDENTIFIER_LENGTH = 64;
/** A few rows may repeat an identifier: they are updates of it. With more, another column may be meant. */
const DISTINCT_SHARE = 0.9;

export const hasNoUrl = ({ values }: ColumnSample) => !values.some(isUrl);
const isAddress = (value: string) => isUrl(value) || value.startsWith('/');
/** A column called Name may hold prices, in a file of prices. */
export const isNameText = ({ values }: ColumnSample) => !values.some(isUrl) && !isMostly(values, isAmount);

function isMostly(values: readonly string[], is: (value: string) => boolean): boolean {
  return values.length > 0 && values.filter(is).length * 2 > values.length;
}

/** Where the name says what a column is, a few rows may lack it or repeat it; they are what a preview is for. */
export function chooseIdentifier(chosen: Chooser): ColumnSample | undefined {
  const named = chosen.named('identifier').filter(({ values, rows }) => values.length * 2 >= rows);
  const sample = [DISTINCT_SHARE, 0.5]
    .map((share) => named.find(({ distinct, values }) => distinct >= values.length * share))
    .find((found) => found !== undefined);
  return sample && chosen.choose('identifier', sample, { by: 'name', ...describeIdentifier(sample) });
}

function describeIdentifier({
  isUnique,
  values,
  distinct,
  rows,
}: ColumnSample): Pick<SuggestionReason, 'confidence' | 'reason'> {
  if (isUnique || rows === 0)
    return { confidence: 'high', reason: 'the column is named so, and no value comes twice' };
  const repeated = values.length - distinct;
  if (repeated === 0)
    return {
      confidence: 'medium',
      reason: `the column is named so, but ${rows - values.length} of ${rows} rows have no value`,
    };
  const reason = `the column is named so, but ${repeated} of ${rows} rows repeat a value: they are variants or updates of a product, and the last one counts`;
  return { confidence: distinct >= values.length * DISTINCT_SHARE ? 'medium' : 'low', reason };
}

export function chooseIdentifierByValues(chosen: Chooser): ColumnSample | undefined {
  const unique = chosen.rest().find(looksLikeIdentifier);
  if (unique !== undefined)
    return chosen.choose('identifier', unique, {
      by: 'values',
      confidence: 'medium',
      reason: 'no value comes twice',
    });
  const named = chosen.named('identifier').find(({ values }) => values.length > 0);
  if (named === undefined) return undefined;
  return chosen.choose('identifier', named, { by: 'name', ...describeIdentifier(named) });
}

export function chooseNamed(
  chosen: Chooser,
  field: SuggestedField,
  fits: (sample: ColumnSample) => boolean,
): ColumnSample | undefined {
  const sample = chosen.named(field).find(fits);
  return (
    sample &&
    chosen.choose(field, sample, { by: 'name', confidence: 'high', reason: 'the column is named so' })
  );
}

export function chooseNameByValues(chosen: Chooser): ColumnSample | undefined {
  const [sample] = chosen
    .rest()
    .filter(looksLikeName)
    .sort((a, b) => b.distinct - a.distinct);
  const reason = 'it holds texts of several words';
  return sample && chosen.choose('name', sample, { by: 'values', confidence: 'low', reason });
}

export function chooseUrl(chosen: Chooser): ColumnSample | undefined {
  const named = chooseNamed(chosen, 'productUrl', ({ values }) => values.every(isAddress));
  if (named !== undefined) return named;
  const sample = chosen.rest().find(({ values }) => values.length > 0 && values.every(isUrl));
  const reason = 'each value is an address';
  return sample && chosen.choose('productUrl', sample, { by: 'values', confidence: 'medium', reason });
}

export function chooseCategories(
  chosen: Chooser,
  sample: ColumnSample | undefined,
  by: 'name' | 'values',
): ColumnSample | undefined {
  if (sample === undefined) return undefined;
  const { confidence, reason } = findPathFormat(sample.values);
  return chosen.choose('categories', sample, { by, confidence, reason });
}

/** Without a column called Brand the manufacturer is one. */
export function chooseBrand(chosen: Chooser): ColumnSample | undefined {
  const [sample] = chosen.named('brand').filter(({ values, rows }) => values.length > 0 || rows === 0);
  if (sample === undefined || sample.name.toLowerCase() === 'brand') return undefined;
  return chosen.choose('brand', sample, {
    by: 'name',
    confidence: 'medium',
    reason: 'the column is named so',
  });
}

/** Columns whose cells hold attributes with their keys, as `color=red,size=M`. */
export function chooseKeyValues(chosen: Chooser): ColumnSample[] {
  const isPairs = (value: string) => /^[^=,\s][^=,]{0,100}=[^=]{0,5000},[^=,\s][^=,]{0,100}=/.test(value);
  const found = chosen.rest().filter(({ values }) => isMostly(values, isPairs));
  const reason = 'its cells hold keys and values';
  return found.map((sample) =>
    chosen.choose('keyValues', sample, { by: 'values', confidence: 'medium', reason }),
  );
}

/** A column named as the first of all images goes first: image, image 2, additional image. */
export function chooseImages(chosen: Chooser, most: number): ColumnSample[] {
  const found = chosen.rest().filter((sample) => isNamedImage(sample) || isSeenImage(sample));
  const images = found.sort((a, b) => placeOf(a.name) - placeOf(b.name)).slice(0, most);
  return images.map((image) =>
    isNamedImage(image)
      ? chosen.choose('images', image, { by: 'name', confidence: 'high', reason: 'the column is named so' })
      : chosen.choose('images', image, {
          by: 'values',
          confidence: 'medium',
          reason: 'each value is a picture',
        }),
  );
}

const isNamedImage = ({ name, values }: ColumnSample) =>
  rankName(name, 'images') >= 0 &&
  values.every((value) => !/\s/.test(value) || isUrl(value) || findImageSplit([value]) !== undefined);
const isSeenImage = ({ values }: ColumnSample) =>
  values.length > 0 && (values.every(isImageUrl) || values.every(isListOfImages));
const isListOfImages = (value: string) => isImageFile(value) || findImageSplit([value]) !== undefined;

/** Images named as additional ones stand behind, then by their number. */
function placeOf(name: string): number {
  const plain = plainName(name);
  const isFurther = /addition|weitere|zusatz|more|thumb/.test(plain);
  return (isFurther ? 1_000 : 0) + Number(/(\d{1,2})$/.exec(plain)?.[1] ?? 0);
}

function looksLikeIdentifier({ name, isUnique, values }: ColumnSample): boolean {
  const isWord = (value: string) => value.length <= IDENTIFIER_LENGTH && !/\s/.test(value) && !isUrl(value);
  const isOther = (value: string) => isFraction(value) || isDate(value);
  return isUnique && !PRICE_NAME.test(name) && values.every(isWord) && !values.some(isOther);
}

function looksLikeName({ name, values }: ColumnSample): boolean {
  const isText = (value: string) =>
    /\p{L}{3}/u.test(value) &&
    value.length <= 200 &&
    !isUrl(value) &&
    !isAmount(value) &&
    !value.includes('<');
  const hasWords = values.some((value) => value.includes(' '));
  const isOther = PRICE_NAME.test(name) || LIST_NAMES.has(plainName(name));
  return values.length > 0 && !isOther && values.every(isText) && hasWords;
}

export function looksLikePaths({ values }: ColumnSample): boolean {
  return values.length > 1 && values.every((value) => /\s[>»]\s/.test(value));
}
