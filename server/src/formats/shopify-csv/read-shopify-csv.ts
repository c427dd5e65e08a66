import { type CsvOptions, delimiter, readRenamed, textOf } from '../csv/read-csv.ts';
import {
  type ColumnValue,
  createColumns,
  defineInputFormat,
  encoding,
  type ReadingNotes,
  type RowProblem,
  RowValues,
  type SourceRow,
  type TextStream,
  tooLarge,
} from '../input/input.ts';

/** Source: Shopify Help Center, "Using CSV files to import and export products". */
export const shopifyCsv = defineInputFormat({
  type: 'shopify-csv',
  label: 'Shopify CSV',
  description: 'a row is a variant in the group of its Handle',
  options: { delimiter, encoding },
  mapping: {
    identifier: 'Variant SKU',
    groupIdentifier: 'Handle',
    name: 'Title',
    images: ['Image Src'],
    categories: [{ from: 'Product Category', separator: ' > ' }, { from: 'Type' }],
    attributes: { Brand: 'Vendor', Type: 'Type', '*': '*' },
  },
  endings: [],
  open: ({ decode, notes }, options) => readShopify(decode(options.encoding), notes, options),
});

/** Shopify allows 2,048 variants and 250 pictures. */
const ROWS_OF_PRODUCT = 2_500;

/**
 * Consecutive rows with the same Handle are one product. The first row has the fields of the product, and each row may
 * add a variant, a picture, or both. The result has one row for each variant, with the fields and pictures of its
 * product.
 */
async function* readShopify(text: TextStream, notes: ReadingNotes, options: CsvOptions) {
  let product: SourceRow[] = [];

  /** @returns the variants of the previous product if the row begins another product */
  function take(row: SourceRow): SourceRow[] {
    if (row.problems !== undefined) return [row];
    const handle = textOf(row, 'Handle');
    if (handle !== '' && product[0] !== undefined && handle === textOf(product[0], 'Handle')) {
      product.push(row);
      checkFurther(product, row, notes);
      return [];
    }
    const variants = listVariants(product);
    product = [row];
    return variants;
  }

  const rename = (rows: readonly SourceRow[]) => rows.flatMap((row) => take(toShopifyNames(row)));
  yield* readRenamed(text, notes, { ...options, rename });
  yield listVariants(product);
}

/** Reports the other columns of a row that only adds a picture as unread. */
function checkFurther(product: readonly SourceRow[], row: SourceRow, notes: ReadingNotes): void {
  if (product.length > ROWS_OF_PRODUCT + 1) {
    const message = `more than ${ROWS_OF_PRODUCT} rows have the Handle ${textOf(row, 'Handle').slice(0, 100)}`;
    throw tooLarge(message, row.number);
  }
  if (isVariant(row)) return;
  for (const name in row.values)
    if (row.values[name] !== '' && name !== 'Handle' && partOf(name) !== 'image') notes.noteUnread(name);
}

function toShopifyNames(row: SourceRow): SourceRow {
  const values = createColumns<ColumnValue>();
  for (const name in row.values) values[NAMES.get(name.toLowerCase()) ?? name] = row.values[name] ?? '';
  return { ...row, values, source: values };
}

function listVariants(rows: readonly SourceRow[]): SourceRow[] {
  const [first, ...others] = rows;
  if (first === undefined) return [];
  const images = listImages(rows);
  const groupProblem = first.values.Title === '' ? { problems: [NO_TITLE] } : {};
  const variants = [first, ...others.filter(isVariant)];
  return variants.map((row) => ({ ...row, ...groupProblem, values: completeVariant(row, first, images) }));
}

function listImages(rows: readonly SourceRow[]): string[] {
  const images = rows
    .filter((row) => textOf(row, 'Image Src') !== '')
    .map((row, index) => {
      const position = Number(textOf(row, 'Image Position') || index + 1);
      return { url: textOf(row, 'Image Src'), position: Number.isFinite(position) ? position : index + 1 };
    });
  return images.sort((a, b) => a.position - b.position).map(({ url }) => url);
}

function completeVariant(row: SourceRow, first: SourceRow, images: readonly string[]) {
  const values = new RowValues();
  for (const name in row.values) {
    const part = partOf(name);
    const own = textOf(row, name);
    if (part === 'product') addOfProduct(values, name, own || textOf(first, name));
    else if (part === 'variant') values.add(name, own);
  }
  // The options of a variant become columns, such as Size with the value M.
  const options = listOptions(row, first);
  for (const { column, value } of options) values.add(column, value);
  // Shops without SKUs distinguish variants by their options. A Handle contains no slash.
  const handle = textOf(first, 'Handle');
  if (handle !== '' && textOf(row, 'Variant SKU') === '')
    values.values['Variant SKU'] = [handle, ...options.map(({ value }) => value)].join('/');
  const pictures = new Set([textOf(row, 'Variant Image'), ...images].filter((url) => url !== ''));
  for (const url of pictures) values.add('Image Src', url, true);
  return values.values;
}

const NO_TITLE: RowProblem = {
  code: 'group',
  message:
    'the Title is missing: rows of one Handle have to follow one another, and the row with the Title comes first',
};

/** Tags are a comma-separated list. */
function addOfProduct(values: RowValues, name: string, text: string): void {
  const tags = name === 'Tags' ? text.split(',').map((tag) => tag.trim()) : [text];
  for (const tag of tags) if (tag !== '' || tags.length === 1) values.add(name, tag);
}

function listOptions(row: SourceRow, first: SourceRow): { column: string; value: string }[] {
  return ['Option1', 'Option2', 'Option3'].flatMap((option) => {
    const value = textOf(row, `${option} Value`);
    const name = textOf(row, `${option} Name`) || textOf(first, `${option} Name`);
    // Shopify writes this value for a product without options.
    const isNone = value === '' || (name === 'Title' && value === 'Default Title');
    const column = name || option;
    return isNone ? [] : [{ column: row.values[column] === undefined ? column : `Option ${column}`, value }];
  });
}

const isVariant = (row: SourceRow): boolean =>
  ['Option1 Value', 'Variant SKU', 'Variant Price'].some((name) => textOf(row, name) !== '');

/** Names of exports that today's template writes in lower case. */
const SAME_NAMES = [
  ...['Product Category', 'Image Position', 'Image Alt Text', 'Variant Image', 'Gift Card', 'SEO Title'],
  ...['SEO Description'],
  ...['Option1', 'Option2', 'Option3'].flatMap((option) =>
    ['Name', 'Value', 'Linked To'].map((part) => `${option} ${part}`),
  ),
];

/** Maps the names of today's template to the older names of exports. The older names are used for both. */
const NAMES = new Map([
  ...SAME_NAMES.map((name): [string, string] => [name.toLowerCase(), name]),
  ...Object.entries({
    'url handle': 'Handle',
    description: 'Body (HTML)',
    'published on online store': 'Published',
    sku: 'Variant SKU',
    barcode: 'Variant Barcode',
    price: 'Variant Price',
    'compare-at price': 'Variant Compare At Price',
    'charge tax': 'Variant Taxable',
    'tax code': 'Variant Tax Code',
    'inventory tracker': 'Variant Inventory Tracker',
    'inventory quantity': 'Variant Inventory Qty',
    'continue selling when out of stock': 'Variant Inventory Policy',
    'weight value (grams)': 'Variant Grams',
    'weight unit for display': 'Variant Weight Unit',
    'requires shipping': 'Variant Requires Shipping',
    'fulfillment service': 'Variant Fulfillment Service',
    'product image url': 'Image Src',
    'image source': 'Image Src',
    'variant image url': 'Variant Image',
  }),
]);

/** Columns of a variant. A variant without values in them inherits nothing from the product's first row. */
const OF_VARIANT = /^(Variant |Option[123] |Cost per item$|Unit price |Price \/ |Compare[- ]At Price \/ )/i;
const OF_IMAGE = new Set(['Image Src', 'Image Position', 'Image Alt Text', 'Variant Image']);

function partOf(name: string): 'product' | 'variant' | 'option' | 'image' {
  if (OF_IMAGE.has(name)) return 'image';
  if (/^Option[123] /.test(name)) return 'option';
  return OF_VARIANT.test(name) ? 'variant' : 'product';
}
