import { type CsvOptions, delimiter, readCsv, readRenamed, splitList, textOf } from '../csv/read-csv.ts';
import {
  decodeText,
  defineInputFormat,
  type FormatReading,
  ReadingNotes,
  RowValues,
  type SourceRow,
  tooLarge,
} from '../input/input.ts';
import { openNamelessFile, readSpool, writeSpool } from '../streams/streams.ts';

/** Source: Adobe Commerce, "Data transfer", the columns of a product export. */
export const magentoCsv = defineInputFormat({
  type: 'magento-csv',
  label: 'Magento CSV',
  description:
    'a row is a product; a variant is in the group of its configurable product; additional_attributes become columns with their keys; categories and images become lists',
  options: { delimiter },
  mapping: {
    identifier: 'sku',
    groupIdentifier: 'parent_sku',
    name: 'name',
    images: ['base_image', 'additional_images'],
    categories: { from: 'categories', separator: '/' },
    attributes: '*',
  },
  endings: [],
  open: readMagento,
});

/** The number of variants that a catalog of this service may have. */
const VARIANTS = 2_000_000;
const LISTS = new Set(['categories', 'additional_images', 'additional_image_labels']);
/** These columns group variants and pair labels with options. A price or colour in them belongs to other products. */
const OF_VARIANTS = new Set(['configurable_variations', 'configurable_variation_labels']);

/** Reads the file twice, because a configurable product names its variants and follows them. */
async function* readMagento({ bytes, notes, tempDir }: FormatReading, options: CsvOptions) {
  await using file = await openNamelessFile(tempDir);
  const decode = (to: ReadingNotes) => decodeText(readSpool(file), to);
  for await (const _ of writeSpool(bytes, file));
  const parents = new Map<string, string>();
  for await (const rows of readCsv(decode(new ReadingNotes()), new ReadingNotes(), options)) {
    for (const row of rows) {
      for (const [sku, parent] of listVariants(row)) parents.set(sku, parent);
      if (parents.size > VARIANTS) throw tooLarge(`The file has more than ${VARIANTS} variants`);
    }
  }
  const rename = (rows: readonly SourceRow[]) => rows.map((row) => readProduct(row, parents, notes));
  yield* readRenamed(decode(notes), notes, { ...options, rename });
}

function listVariants(row: SourceRow): [sku: string, parent: string][] {
  return textOf(row, 'configurable_variations')
    .split('|')
    .flatMap((variation) => {
      const sku = /(?:^|,)\s*sku=([^,]+)/.exec(variation)?.[1]?.trim();
      return sku === undefined ? [] : [[sku, textOf(row, 'sku')]];
    });
}

function readProduct(row: SourceRow, parents: ReadonlyMap<string, string>, notes: ReadingNotes): SourceRow {
  const values = new RowValues();
  for (const name in row.values) addColumn(values, { name, text: textOf(row, name) }, notes);
  const sku = textOf(row, 'sku');
  const isParent = textOf(row, 'configurable_variations') !== '';
  const parent = parents.get(sku) ?? (isParent ? sku : undefined);
  if (parent !== undefined) values.values.parent_sku = parent;
  return { ...row, values: values.values };
}

function addColumn(values: RowValues, { name, text }: { name: string; text: string }, notes: ReadingNotes) {
  if (name === 'additional_attributes') addAttributes(values, text, notes);
  else if (LISTS.has(name)) for (const value of splitList(text)) values.add(name, value, true);
  else if (!OF_VARIANTS.has(name)) values.add(name, text);
}

/** Splits `color=red|blue,size=M`. After a comma without a key, the value continues. */
function addAttributes(values: RowValues, text: string, notes: ReadingNotes): void {
  for (const pair of splitList(text, /,(?=[\w.-]{1,100}=)/)) {
    const [, key = '', list = ''] = /^([^=]+)=([\s\S]*)$/.exec(pair) ?? [];
    if (key === '') notes.noteUnread('additional_attributes');
    const column = values.values[key] === undefined ? key : `additional_attributes.${key}`;
    for (const value of splitList(list, /[|\n]/)) values.add(column, value);
  }
}
