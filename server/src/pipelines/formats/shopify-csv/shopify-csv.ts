import type { TextStream } from '../chunks.ts';
import { type CsvOptions, delimiter, readCsv } from '../csv/csv.ts';
import { encoding } from '../decode.ts';
import {
  type Columns,
  type ColumnValue,
  createColumns,
  defineFormat,
  FormatProblem,
  ReadingNotes,
  RowValues,
  type SourceRow,
} from '../format.ts';

/** Source: Shopify Help Center, "Using CSV files to import and export products". */
export const shopifyCsv = defineFormat({
  type: 'shopify-csv',
  label: 'Shopify CSV',
  description: 'a row is a variant, in the group of its Handle',
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
 * Rows that follow one another with the same Handle are one product: the first has its fields, and each may add a
 * variant, a picture, or both. One row comes out for each variant, with the fields and pictures of its product.
 */
async function* readShopify(
  text: TextStream,
  notes: ReadingNotes,
  options: CsvOptions = {},
): AsyncGenerator<SourceRow[]> {
  const own = new ReadingNotes();
  const products = new ShopifyProducts(notes);
  for await (const rows of readCsv(text, own, options)) {
    Object.assign(notes.found, own.found);
    const ready = rows.flatMap((row) => products.take(rename(row)));
    if (ready.length > 0) yield ready;
  }
  yield products.finish();
}

class ShopifyProducts {
  readonly #notes: ReadingNotes;
  #product: ShopifyProduct | undefined;

  constructor(notes: ReadingNotes) {
    this.#notes = notes;
  }

  /** @returns the variants of the product before, when the row begins another */
  take(row: SourceRow): SourceRow[] {
    if (row.problems !== undefined) return [row];
    if (this.#product?.takes(row) === true) {
      if (!isVariant(row)) this.#noteUnread(row);
      return [];
    }
    const variants = this.finish();
    this.#product = new ShopifyProduct(row);
    return variants;
  }

  /** Of a row that only adds a picture nothing else is read. */
  #noteUnread({ values }: SourceRow): void {
    for (const name in values)
      if (values[name] !== '' && name !== 'Handle' && partOf(name) !== 'image') this.#notes.noteUnread(name);
  }

  finish(): SourceRow[] {
    return this.#product?.listVariants() ?? [];
  }
}

function rename(row: SourceRow): SourceRow {
  const values = createColumns<ColumnValue>();
  for (const name in row.values) values[toShopifyName(name)] = row.values[name] ?? '';
  return { ...row, values, source: values };
}

const textOf = (row: SourceRow, name: string): string => String(row.values[name] ?? '');

class ShopifyProduct {
  readonly #first: SourceRow;
  readonly #variants: SourceRow[] = [];
  readonly #images: { readonly url: string; readonly position: number }[] = [];
  #rows = 0;

  constructor(first: SourceRow) {
    this.#first = first;
    this.#variants.push(first);
    this.#takeImage(first);
  }

  /** @returns whether the row belongs to the product */
  takes(row: SourceRow): boolean {
    const handle = textOf(row, 'Handle');
    if (handle === '' || handle !== textOf(this.#first, 'Handle')) return false;
    this.#rows += 1;
    if (this.#rows > ROWS_OF_PRODUCT) {
      const message = `more than ${ROWS_OF_PRODUCT} rows have the Handle ${handle.slice(0, 100)}`;
      throw new FormatProblem('too_large', message, { line: row.number });
    }
    if (isVariant(row)) this.#variants.push(row);
    this.#takeImage(row);
    return true;
  }

  listVariants(): SourceRow[] {
    const images = this.#images.sort((a, b) => a.position - b.position).map(({ url }) => url);
    return this.#variants.map((row) => this.#complete(row, images));
  }

  #takeImage(row: SourceRow): void {
    const url = textOf(row, 'Image Src');
    if (url === '') return;
    const position = Number(textOf(row, 'Image Position') || this.#images.length + 1);
    this.#images.push({ url, position: Number.isFinite(position) ? position : this.#images.length + 1 });
  }

  #complete(row: SourceRow, images: readonly string[]): SourceRow {
    const values = new RowValues();
    for (const name in row.values) {
      const part = partOf(name);
      const own = textOf(row, name);
      if (part === 'product') this.#addOfProduct(name, own, values);
      if (part === 'variant' && !name.startsWith('Option')) values.add(name, own);
    }
    this.#addOptions(row, values);
    this.#nameVariant(row, values);
    for (const url of withFirst(textOf(row, 'Variant Image'), images)) values.add('Image Src', url, true);
    return { ...row, values: values.values, ...this.#findProblem() };
  }

  /** Tags are a list, by commas. */
  #addOfProduct(name: string, own: string, values: RowValues): void {
    const text = own === '' ? textOf(this.#first, name) : own;
    const tags = name === 'Tags' ? text.split(',').map((tag) => tag.trim()) : [text];
    for (const tag of tags) if (tag !== '' || tags.length === 1) values.add(name, tag);
  }

  /** Shops that have no SKUs tell variants apart by their options; a Handle has no slash. */
  #nameVariant(row: SourceRow, { values }: RowValues): void {
    const handle = textOf(this.#first, 'Handle');
    if (handle === '' || textOf(row, 'Variant SKU') !== '') return;
    const options = this.#listOptions(row).map(({ value }) => value);
    values['Variant SKU'] = [handle, ...options].join('/');
  }

  /** A variant's options become columns of their own: Size with the value M. */
  #addOptions(row: SourceRow, values: RowValues): void {
    for (const { name, value } of this.#listOptions(row)) values.add(this.#columnOf(name, row.values), value);
  }

  #listOptions(row: SourceRow): { name: string; value: string }[] {
    return ['Option1', 'Option2', 'Option3'].flatMap((option) => {
      const value = textOf(row, `${option} Value`);
      const name = textOf(row, `${option} Name`) || textOf(this.#first, `${option} Name`);
      // What Shopify writes for a product that has no options.
      const isNone = value === '' || (name === 'Title' && value === 'Default Title');
      return isNone ? [] : [{ name: name || option, value }];
    });
  }

  #columnOf(name: string, columns: Columns<ColumnValue>): string {
    return columns[name] === undefined ? name : `Option ${name}`;
  }

  #findProblem(): Pick<SourceRow, 'problems'> {
    if (this.#first.values.Title !== '') return {};
    const message =
      'there is no Title: rows of one Handle have to follow one another, the one with the Title first';
    return { problems: [{ code: 'group', message }] };
  }
}

function isVariant(row: SourceRow): boolean {
  return ['Option1 Value', 'Variant SKU', 'Variant Price'].some((name) => textOf(row, name) !== '');
}

function withFirst(first: string, images: readonly string[]): readonly string[] {
  return [...new Set(first === '' ? images : [first, ...images])];
}

/** Names of today's template by the ones that exports have had for years, which stand for both here. */
const NAMES = new Map(
  Object.entries({
    'url handle': 'Handle',
    description: 'Body (HTML)',
    'product category': 'Product Category',
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
    'image position': 'Image Position',
    'image alt text': 'Image Alt Text',
    'variant image url': 'Variant Image',
    'variant image': 'Variant Image',
    'gift card': 'Gift Card',
    'seo title': 'SEO Title',
    'seo description': 'SEO Description',
    'option1 name': 'Option1 Name',
    'option1 value': 'Option1 Value',
    'option1 linked to': 'Option1 Linked To',
    'option2 name': 'Option2 Name',
    'option2 value': 'Option2 Value',
    'option2 linked to': 'Option2 Linked To',
    'option3 name': 'Option3 Name',
    'option3 value': 'Option3 Value',
    'option3 linked to': 'Option3 Linked To',
  }),
);

function toShopifyName(name: string): string {
  return NAMES.get(name.toLowerCase()) ?? name;
}

/** Columns that belong to a variant: a row without them takes nothing over from the product's first row. */
const OF_VARIANT = /^(Variant |Option[123] |Cost per item$|Unit price |Price \/ |Compare[- ]At Price \/ )/i;
const OF_IMAGE = new Set(['Image Src', 'Image Position', 'Image Alt Text', 'Variant Image']);

type ShopifyPart = 'product' | 'variant' | 'image';

function partOf(name: string): ShopifyPart {
  if (OF_IMAGE.has(name)) return 'image';
  return OF_VARIANT.test(name) ? 'variant' : 'product';
}
