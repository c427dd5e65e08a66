import { type Static, Type } from 'typebox';
import type { InputFormatSettings } from '../../../formats/formats.ts';
import type { MappedProduct } from '../mapping-parts.ts';
import { isOfPairs, type Mapping, type PipelineMode } from '../mapping-schemas.ts';
import { isAmount, isFraction, isUrl, PRICE_NAME } from './suggestion-values.ts';

/** Warnings about problems that a person would notice in the products that a mapping makes. */
export const PreviewWarning = Type.Object({ field: Type.String(), message: Type.String() });
export type PreviewWarning = Static<typeof PreviewWarning>;

/** With fewer products, equal values mean nothing. */
const PRODUCTS = 3;
/** The number of top categories that is still plausible. A shop has a dozen. */
const TOPS = 20;

type Products = readonly MappedProduct[];

/** @returns the warnings, in the order of the fields */
export const listWarnings = (products: Products): PreviewWarning[] =>
  [checkIdentifiers, checkNames, checkImages, checkCategories, checkPrices].flatMap((check) =>
    check(products),
  );

/** @returns the parts that a product of this mode needs, and for which the mapping has no column */
export function listMissing(
  { identifier, name, source, targets, target }: Partial<Mapping>,
  mode: PipelineMode,
): PreviewWarning[] {
  if (isOfPairs(mode)) {
    if (source !== undefined && (mode === 'links' ? targets : target) !== undefined) return [];
    return [{ field: 'targets', message: 'Choose the column of the source and the columns of its targets' }];
  }
  if (identifier === undefined)
    return [{ field: 'identifier', message: 'No column looks like an identifier. Choose one' }];
  if (name !== undefined || mode === 'partial' || mode === 'delete') return [];
  const message =
    'No column looks like a name. Choose one, or the mode partial if the file only changes values of products';
  return [{ field: 'name', message }];
}

function checkIdentifiers(products: Products): PreviewWarning[] {
  const identifiers = products.map(({ identifier }) => identifier);
  const repeated = identifiers.length - new Set(identifiers).size;
  const fractions = identifiers.filter(isFraction);
  const messages: string[] = [];
  if (repeated > 0) {
    const first = identifiers.find((identifier, index) => identifiers.indexOf(identifier) < index);
    messages.push(
      `${repeated} of ${identifiers.length} rows repeat an identifier, such as ${show(first)}. The last of these rows is used. If they are variants, choose a column whose values differ`,
    );
  }
  if (isMost(fractions, identifiers))
    messages.push(`The identifiers look like prices: ${show(fractions[0])}`);
  return messages.map((message) => ({ field: 'identifier', message }));
}

function checkNames(products: Products): PreviewWarning[] {
  const names = products.flatMap(({ name }) => name ?? []);
  const amounts = names.filter(isAmount);
  if (isMost(amounts, names))
    return [{ field: 'name', message: `The names look like numbers or prices: ${show(amounts[0])}` }];
  const groups = new Set(products.map(({ groupIdentifier, identifier }) => groupIdentifier ?? identifier));
  const isSame = groups.size >= PRODUCTS && isOne(names);
  return isSame ? [{ field: 'name', message: `All names are ${show(names[0])}` }] : [];
}

function checkImages(products: Products): PreviewWarning[] {
  const urls = products.flatMap(({ images = [] }) => images.map(({ url }) => url));
  const cut = urls.filter((url) => !isUrl(url));
  if (!isMost(cut, urls)) return [];
  return [{ field: 'images', message: `The addresses of images are incomplete: ${show(cut[0])}` }];
}

function checkCategories(products: Products): PreviewWarning[] {
  const paths = products.flatMap(({ categories = [] }) => categories.map(({ path }) => path));
  const tops = new Set(paths.map(([top]) => top));
  if (tops.size <= TOPS || tops.size * 4 < products.length) return [];
  const message = `${tops.size} different top categories in ${products.length} products, such as ${[...tops].slice(0, 3).map(show).join(', ')}. Check the separators`;
  return [{ field: 'categories', message }];
}

function checkPrices(products: Products): PreviewWarning[] {
  const values = products.flatMap(({ attributes = [] }) => attributes);
  const prices = values.filter(({ key, value }) => value !== null && PRICE_NAME.test(key));
  return [...Map.groupBy(prices, ({ key }) => key)].flatMap(([key, pricesOfKey]) => {
    const texts = pricesOfKey.map(({ value }) => value ?? '');
    const message = `All ${texts.length} values of ${key} are ${show(texts[0])}`;
    return isOne(texts) ? [{ field: `attributes.${key}`, message }] : [];
  });
}

const isMost = (some: readonly string[], all: readonly string[]) => some.length * 2 > all.length;
const isOne = (values: readonly string[]) => values.length >= PRODUCTS && new Set(values).size === 1;
const show = (text: string | undefined) => JSON.stringify((text ?? '').slice(0, 60));

/**
 * Columns that only files of one format have. They have the names that the readers of the general formats in `readAs`
 * give them.
 */
const SIGNS: readonly {
  readonly readAs: readonly InputFormatSettings['type'][];
  readonly type: InputFormatSettings['type'];
  readonly columns: readonly RegExp[];
  readonly reason: string;
}[] = [
  {
    readAs: ['json', 'ndjson'],
    type: 'native',
    columns: [
      /^(products\.)?identifier$/,
      /^(products\.)?(attributes\.key|categories\.path|images\.url|groupIdentifier)$/,
    ],
    reason: 'its lines are products in the form of an upload',
  },
  {
    readAs: ['xml'],
    type: 'bmecat',
    columns: [/(^|\.)SUPPLIER_[AP]ID$/, /(^|\.)(ARTICLE|PRODUCT)_(DETAILS|PRICE_DETAILS)\./],
    reason: 'its elements are those of BMEcat',
  },
  {
    readAs: ['csv', 'tsv'],
    type: 'shopify-csv',
    columns: [/^(Handle|URL handle)$/i, /^Option1 Name$/i],
    reason: 'its columns are those of a Shopify export',
  },
  {
    readAs: ['csv', 'tsv'],
    type: 'woocommerce-csv',
    columns: [/^SKU$/, /^Attribute 1 value\(s\)$/],
    reason: 'its columns are those of a WooCommerce export',
  },
  {
    readAs: ['csv', 'tsv'],
    type: 'magento-csv',
    columns: [/^sku$/, /^product_type$/, /^additional_attributes$/, /^configurable_variations$/],
    reason: 'its columns are those of a Magento export',
  },
];

/** @returns the specific format of a file that was read as a general format */
export function suggestFormat(type: InputFormatSettings['type'], columns: readonly string[]) {
  const hasOne = (column: RegExp) => columns.some((name) => column.test(name));
  const match = SIGNS.find((sign) => sign.readAs.includes(type) && sign.columns.every(hasOne));
  return match && { type: match.type, reason: match.reason };
}
