/** Product feeds for Google Merchant Center, as text with tabs or as RSS. */
import { tsvCell, writeDelimited } from './delimited.ts';
import type { Field } from './field.ts';
import type { ChannelFormat, FeedRow, WriterOptions } from './format.ts';
import { GOOGLE_FIELDS } from './google-fields.ts';

/** Source: support.google.com/merchants/answer/17085213: up to 30, letters, digits, underscores and dashes. */
const MOST_RELATED = 30;
const RELATED_IDENTIFIER = /^[A-Za-z0-9_-]+$/;

interface Related {
  readonly as: string;
  readonly identifier: string;
}

/** Products of one relation are distinct; several may lead to the same. */
function listRelated({ related }: FeedRow): Related[] {
  const all = related.flatMap(({ as, identifiers }) => identifiers.map((identifier) => ({ as, identifier })));
  if (related.length < 2) return all;
  const seen = new Set<string>();
  return all.filter(({ as, identifier }) => seen.size < seen.add(`${as} ${identifier}`).size);
}

const openTsv = (options: WriterOptions) =>
  writeDelimited(options, {
    separator: '\t',
    cell: tsvCell,
    join: (values) => values.map(quoteListed).join(','),
    related: {
      names: options.as.length > 0 ? ['related_product'] : [],
      cells: (row) =>
        options.as.length > 0
          ? [
              listRelated(row)
                .map(({ as, identifier }) => `${as}:id:${identifier}`)
                .join(','),
            ]
          : [],
    },
  });

/** Several values of one cell have commas between; one that holds a comma is quoted. */
const quoteListed = (value: string) => (/[",]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' },
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 has no place for them, not even escaped.
const NOT_IN_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

export const escapeXml = (text: string): string =>
  text.replace(NOT_IN_XML, ' ').replace(/[&<>"']/g, (sign) => ESCAPES[sign] as string);

const element = (name: string, content: string) => `<g:${name}>${content}</g:${name}>`;

function writeElement({ name, parts }: Field, value: string): string {
  if (parts === undefined) return element(name, escapeXml(value));
  const given = value.split(':');
  const last = parts.length - 1;
  const texts = [...given.slice(0, last), given.slice(last).join(':')];
  const inner = parts.map((part, at) => (texts[at] ? element(part, escapeXml(texts[at])) : ''));
  return element(name, inner.join(''));
}

function openXml({ columns, channelName }: WriterOptions) {
  return {
    head: `<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0">\n<channel>\n<title>${escapeXml(channelName)}</title>\n`,
    write(row: FeedRow) {
      let item = '<item>';
      for (const [at, column] of columns.entries())
        for (const value of row.values[at] as readonly string[]) item += writeElement(column, value);
      for (const { as, identifier } of listRelated(row)) {
        const parts = `${element('relationship_type', as)}${element('identifier_type', 'id')}${element('identifier', identifier)}`;
        item += element('related_product', parts);
      }
      return `${item}</item>\n`;
    },
    tail: '</channel>\n</rss>\n',
  };
}

export const googleMerchant: ChannelFormat = {
  type: 'google-merchant',
  label: 'Google Merchant Center',
  description: 'text with tabs (tsv) or RSS (xml); related products go out as related_product',
  fields: GOOGLE_FIELDS,
  identifiedBy: 'id',
  conditions: [{ field: 'availability', values: ['preorder', 'backorder'], requires: 'availability_date' }],
  suggestions: {
    id: { field: 'identifier' },
    title: { field: 'name' },
    description: { attributes: ['description', 'beschreibung', 'longdescription', 'produktbeschreibung'] },
    link: { field: 'productUrl' },
    image_link: { field: 'image' },
    additional_image_link: { field: 'additionalImages' },
    availability: { attributes: ['availability', 'verfugbarkeit', 'stockstatus'] },
    price: { attributes: ['price', 'preis', 'saleprice', 'verkaufspreis'] },
    brand: { attributes: ['brand', 'marke', 'manufacturer', 'hersteller'] },
    gtin: { attributes: ['gtin', 'ean', 'upc', 'barcode', 'gtin13'] },
    mpn: { attributes: ['mpn', 'manufacturerpartnumber', 'herstellernummer', 'herstellerartikelnummer'] },
    condition: { attributes: ['condition', 'zustand'] },
    item_group_id: { field: 'groupIdentifier' },
    product_type: { field: 'categoryPath' },
    color: { attributes: ['color', 'colour', 'farbe'] },
    size: { attributes: ['size', 'grosse', 'groesse'] },
    material: { attributes: ['material'] },
  },
  suggestsAttributes: false,
  rowsPerFile: undefined,
  mostRelated: MOST_RELATED,
  relatedIdentifier: RELATED_IDENTIFIER,
  reversed: new Set(),
  defaultVariant: 'tsv',
  variants: {
    tsv: {
      ending: 'tsv',
      mediaType: 'text/tab-separated-values; charset=utf-8',
      compression: 'none',
      open: openTsv,
    },
    xml: { ending: 'xml', mediaType: 'application/xml; charset=utf-8', compression: 'none', open: openXml },
  },
};
