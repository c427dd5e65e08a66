import type { TextStream } from '../chunks.ts';
import { type CsvOptions, delimiter, readCsv } from '../csv/csv.ts';
import { encoding } from '../decode.ts';
import { defineFormat, ReadingNotes, RowValues, type SourceRow } from '../format.ts';

/** Source: WooCommerce, "Product CSV Importer and Exporter", the schema of its columns. */
export const woocommerceCsv = defineFormat({
  type: 'woocommerce-csv',
  label: 'WooCommerce CSV',
  description:
    'a row is a product or a variation, in the group of its Parent; attributes by their names, Categories and Images as lists',
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
  open: ({ decode, notes }, options) => readWoocommerce(decode(options.encoding), notes, options),
});

/** Lists of paths and addresses in one cell; a comma of a name is written `\,`. */
const LISTS = new Set(['Categories', 'Tags', 'Images']);
/** Files that customers pay for, and their names: never published. */
const DOWNLOAD = /^Download \d+ (ID|name|URL)$/;
/** `Attribute 1 name` names the column of `Attribute 1 value(s)`; whether it is visible or global says nothing of a product. */
const ATTRIBUTE = /^Attribute (\d+) (name|value\(s\)|visible|global|default)$/;

async function* readWoocommerce(
  text: TextStream,
  notes: ReadingNotes,
  options: CsvOptions,
): AsyncGenerator<SourceRow[]> {
  const own = new ReadingNotes();
  for await (const rows of readCsv(text, own, options)) {
    Object.assign(notes.found, own.found);
    yield rows.map((row) => readProduct(row, notes));
  }
}

function readProduct(row: SourceRow, notes: ReadingNotes): SourceRow {
  const textOf = (name: string): string => String(row.values[name] ?? '');
  const values = new RowValues();
  for (const name in row.values) if (!addColumn(values, name, textOf)) notes.noteUnread(name);
  // As WooCommerce itself names a product without SKU in other rows.
  const identifier = textOf('SKU') || (textOf('ID') && `id:${textOf('ID')}`);
  if (identifier !== '') values.values.SKU = identifier;
  // The product that variations belong to names no parent; it is one of their group.
  if (textOf('Type').split(', ').includes('variable') && textOf('Parent') === '') {
    values.values.Parent = identifier;
  }
  return { ...row, values: values.values };
}

/** @returns false for values of an attribute without a name */
function addColumn(values: RowValues, name: string, textOf: (name: string) => string): boolean {
  const [, number, part] = ATTRIBUTE.exec(name) ?? [];
  if (DOWNLOAD.test(name)) return true;
  if (LISTS.has(name)) for (const value of splitList(textOf(name))) values.add(name, value, true);
  else if (number === undefined) values.add(name, textOf(name));
  else if (part === 'value(s)') return addAttribute(values, textOf(`Attribute ${number} name`), textOf(name));
  return true;
}

/** A product may call an attribute what another column is called. */
function addAttribute(values: RowValues, name: string, text: string): boolean {
  if (name === '') return text === '';
  const column = values.values[name] === undefined ? name : `Attribute ${name}`;
  for (const value of splitList(text)) values.add(column, value, true);
  return true;
}

function splitList(text: string): string[] {
  const parts = text.split(/(?<!\\),/).map((part) => part.trim().replaceAll('\\,', ','));
  return parts.filter((part) => part !== '');
}
