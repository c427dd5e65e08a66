/** Writes product feeds for Google Merchant Center, as tab-separated text or as RSS. */
import {
  choice,
  code,
  type FeedRow,
  type Field,
  gtin,
  type OutputFormat,
  required,
  searched,
  text,
  tsvCell,
  url,
  type WriterOptions,
  writeDelimited,
} from '../output/output.ts';

/** A relation names a product once, but several relations may name the same product. */
function listRelated<Named>({ related }: FeedRow, name: (as: string, identifier: string) => Named): Named[] {
  const listed: Named[] = [];
  const seen = related.length < 2 ? undefined : new Set<string>();
  for (const { as, identifiers } of related)
    for (const identifier of identifiers)
      if (seen === undefined || seen.size < seen.add(`${as} ${identifier}`).size)
        listed.push(name(as, identifier));
  return listed;
}

const openTsv = (options: WriterOptions) =>
  writeDelimited(options, {
    separator: '\t',
    cell: tsvCell,
    join: (values) => values.map(quoteListed).join(','),
    related: {
      names: options.as.length > 0 ? ['related_product'] : [],
      cells: (row) => [listRelated(row, (as, identifier) => `${as}:id:${identifier}`).join(',')],
    },
  });

/** Values in a cell are separated by commas, so a value that contains a comma is quoted. */
const quoteListed = (value: string) => (/[",]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 does not allow these characters, not even escaped.
const NOT_IN_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

export const escapeXml = (text: string): string =>
  text.replace(NOT_IN_XML, ' ').replace(/[&<>"']/g, (sign) => ESCAPES[sign] as string);

const element = (name: string, content: string) => `<g:${name}>${content}</g:${name}>`;

function writeElement({ name, parts }: Field, value: string): string {
  if (parts === undefined) return element(name, escapeXml(value));
  const allTexts = value.split(':');
  const last = parts.length - 1;
  const texts = [...allTexts.slice(0, last), allTexts.slice(last).join(':')];
  const inner = parts.map((part, index) => (texts[index] ? element(part, escapeXml(texts[index])) : ''));
  return element(name, inner.join(''));
}

function writeItem(columns: WriterOptions['columns'], row: FeedRow): string {
  let item = '<item>';
  for (const [index, column] of columns.entries())
    for (const value of row.values[index] as readonly string[]) item += writeElement(column, value);
  const related = listRelated(row, (as, identifier) => {
    const parts = `${element('relationship_type', as)}${element('identifier_type', 'id')}${element('identifier', identifier)}`;
    return element('related_product', parts);
  });
  return `${item}${related.join('')}</item>\n`;
}

function openXml({ columns, channelName }: WriterOptions) {
  const name = escapeXml(channelName);
  const linkAt = columns.findIndex(({ name: column }) => column === 'link');
  let hasLink = false;
  return {
    head: `<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0">\n<channel>\n<title>${name}</title>\n<description>${name}</description>\n`,
    write(row: FeedRow) {
      // RSS requires the address of the shop, which is taken from the first product.
      const shop = hasLink ? undefined : URL.parse(row.values[linkAt]?.[0] ?? '')?.origin;
      hasLink ||= shop !== undefined;
      return `${shop === undefined ? '' : `<link>${escapeXml(shop)}</link>\n`}${writeItem(columns, row)}`;
    },
    tail: '</channel>\n</rss>\n',
  };
}

const price = (name: string): Field => ({ name, kind: 'price' });
const repeated = (field: Field, most: number): Field => ({ ...field, most });
const codes = (maxLength: number, ...names: string[]) => names.map((name) => code(name, maxLength));
const group = (name: string, most: number, ...parts: string[]): Field => ({
  name,
  kind: 'text',
  most,
  parts,
});

/**
 * The fields of a Google product feed. Source: product data specification
 * (support.google.com/merchants/answer/7052112), read in November 2026. Fields that Google fills in for its own markets
 * or programs are omitted.
 */
const GOOGLE_FIELDS: readonly Field[] = [
  required({ name: 'id', kind: 'identifier', maxLength: 50 }),
  required(text('title', 150)),
  required(text('description', 5_000)),
  required(url('link')),
  required(url('image_link')),
  required(choice('availability', 'in_stock', 'out_of_stock', 'preorder', 'backorder')),
  required(price('price')),
  repeated(url('additional_image_link'), 10),
  ...['mobile_link', 'canonical_link', 'virtual_model_link'].map(url),
  ...codes(25, 'availability_date', 'expiration_date'),
  price('sale_price'),
  code('sale_price_effective_date', 51),
  ...['cost_of_goods_sold', 'maximum_retail_price'].map(price),
  ...codes(50, 'unit_pricing_measure', 'unit_pricing_base_measure'),
  text('google_product_category', 750),
  repeated(text('product_type', 750), 5),
  text('brand', 70),
  repeated(gtin, 10),
  code('mpn', 70),
  choice('identifier_exists', 'yes', 'no', 'true', 'false'),
  choice('condition', 'new', 'refurbished', 'used'),
  choice('adult', 'yes', 'no'),
  { name: 'multipack', kind: 'integer' },
  choice('is_bundle', 'yes', 'no'),
  choice('age_group', 'newborn', 'infant', 'toddler', 'kids', 'adult'),
  text('color', 100),
  choice('gender', 'male', 'female', 'unisex'),
  text('material', 200),
  text('pattern', 100),
  text('size', 100),
  repeated(choice('size_type', 'regular', 'petite', 'maternity', 'big', 'tall', 'plus'), 2),
  code('size_system', 4),
  { name: 'item_group_id', kind: 'identifier', maxLength: 50 },
  ...codes(5, 'energy_efficiency_class', 'min_energy_efficiency_class', 'max_energy_efficiency_class'),
  ...codes(30, 'product_length', 'product_width', 'product_height', 'product_weight'),
  repeated(text('product_highlight', 150), 100),
  group('product_detail', 1_000, 'section_name', 'attribute_name', 'attribute_value'),
  url('ads_redirect'),
  ...[0, 1, 2, 3, 4].map((number) => text(`custom_label_${number}`, 100)),
  repeated(code('promotion_id', 50), 10),
  url('lifestyle_image_link'),
  code('external_seller_id', 50),
  repeated(text('excluded_destination', 50), 10),
  repeated(text('included_destination', 50), 10),
  repeated({ name: 'shopping_ads_excluded_country', kind: 'country' }, 100),
  choice('pause', 'ads', 'all'),
  group('shipping', 100, 'country', 'region', 'service', 'price'),
  text('shipping_label', 100),
  ...codes(30, 'shipping_weight', 'shipping_length', 'shipping_width', 'shipping_height'),
  { name: 'ships_from_country', kind: 'country' },
  text('transit_time_label', 100),
  { name: 'max_handling_time', kind: 'integer' },
  { name: 'min_handling_time', kind: 'integer' },
];

export const googleMerchant: OutputFormat = {
  type: 'google-merchant',
  label: 'Google Merchant Center',
  description: 'tab-separated text (tsv) or RSS (xml); related products are written as related_product',
  fields: GOOGLE_FIELDS,
  identifiedBy: 'id',
  conditions: [{ field: 'availability', values: ['preorder', 'backorder'], requires: 'availability_date' }],
  suggestions: {
    id: { field: 'identifier' },
    title: { field: 'name' },
    ...searched('description'),
    link: { field: 'productUrl' },
    image_link: { field: 'image' },
    additional_image_link: { field: 'additionalImages' },
    ...searched('availability'),
    price: { attributes: ['price', 'preis', 'saleprice', 'verkaufspreis'] },
    ...searched('brand', 'gtin', 'mpn', 'condition'),
    item_group_id: { field: 'groupIdentifier' },
    product_type: { field: 'categoryPath' },
    ...searched('color', 'size', 'material'),
  },
  wholeBecause: 'Google removes products that are missing from a file',
  // Source: support.google.com/merchants/answer/17085213, which allows up to 30 letters, digits, underscores and
  // dashes.
  mostRelated: 30,
  relatedIdentifier: /^[A-Za-z0-9_-]+$/,
  defaultVariant: 'tsv',
  variants: {
    tsv: { ending: 'tsv', mediaType: 'text/tab-separated-values; charset=utf-8', open: openTsv },
    xml: { ending: 'xml', mediaType: 'application/xml; charset=utf-8', open: openXml },
  },
};
