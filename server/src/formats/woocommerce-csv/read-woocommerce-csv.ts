import { delimiter, readRenamed, splitList as splitPlain, textOf } from '../csv/read-csv.ts';
import { defineInputFormat, encoding, type ReadingNotes, RowValues, type SourceRow } from '../input/input.ts';

/** Source: WooCommerce, "Product CSV Importer and Exporter", the schema of its columns. */
export const woocommerceCsv = defineInputFormat({
  type: 'woocommerce-csv',
  label: 'WooCommerce CSV',
  description:
    'a row is a product or a variation in the group of its Parent; attributes become columns with their names; Categories and Images become lists',
  options: { delimiter, encoding },
  mapping: {
    identifier: 'SKU',
    groupIdentifier: 'Parent',
    name: 'Name',
    images: ['Images'],
    categories: { from: 'Categories', separator: ' > ' },
    attributes: '*',
  },
  endings: [],
  open: ({ decode, notes }, options) =>
    readRenamed(decode(options.encoding), notes, {
      ...options,
      rename: (rows) => rows.map((row) => readProduct(row, notes)),
    }),
});

/** Lists of paths and addresses in one cell. A comma in a name is written `\,`. */
const LISTS = new Set(['Categories', 'Tags', 'Images']);
/** The files that customers pay for, and their names. They are never published. */
const DOWNLOAD = /^Download \d+ (ID|name|URL)$/;
/**
 * `Attribute 1 name` names the column of `Attribute 1 value(s)`. The parts visible and global contain nothing about a
 * product.
 */
const ATTRIBUTE = /^Attribute (\d+) (name|value\(s\)|visible|global|default)$/;

function readProduct(row: SourceRow, notes: ReadingNotes): SourceRow {
  const values = new RowValues();
  for (const name in row.values) if (!addColumn(values, name, row)) notes.noteUnread(name);
  // WooCommerce refers to a product without SKU in this form.
  const identifier = textOf(row, 'SKU') || (textOf(row, 'ID') && `id:${textOf(row, 'ID')}`);
  if (identifier !== '') values.values.SKU = identifier;
  // The product that variations belong to names no parent, but it is in their group.
  if (textOf(row, 'Type').split(', ').includes('variable') && textOf(row, 'Parent') === '')
    values.values.Parent = identifier;
  return { ...row, values: values.values };
}

/** @returns false for values of an attribute without a name */
function addColumn(values: RowValues, name: string, row: SourceRow): boolean {
  const text = textOf(row, name);
  const [, number, part] = ATTRIBUTE.exec(name) ?? [];
  if (DOWNLOAD.test(name)) return true;
  if (LISTS.has(name)) for (const value of splitList(text)) values.add(name, value, true);
  else if (number === undefined) values.add(name, text);
  else if (part === 'value(s)') return addAttribute(values, textOf(row, `Attribute ${number} name`), text);
  return true;
}

/** A product may give an attribute the name of another column. */
function addAttribute(values: RowValues, name: string, text: string): boolean {
  if (name === '') return text === '';
  const column = values.values[name] === undefined ? name : `Attribute ${name}`;
  for (const value of splitList(text)) values.add(column, value, true);
  return true;
}

const splitList = (text: string): string[] =>
  splitPlain(text, /(?<!\\),/).map((part) => part.replaceAll('\\,', ','));
