import type { FileHandle } from 'node:fs/promises';
import { openNamelessFile, readSpool, writeSpool } from '../../streams.ts';
import { cutChunks } from '../chunks.ts';
import { type CsvOptions, delimiter, readCsv } from '../csv/csv.ts';
import { decodeText } from '../decode.ts';
import {
  defineFormat,
  FormatProblem,
  type FormatReading,
  ReadingNotes,
  RowValues,
  type SourceRow,
} from '../format.ts';

/** Source: Adobe Commerce, "Data transfer", the columns of a product export. */
export const magentoCsv = defineFormat({
  type: 'magento-csv',
  label: 'Magento CSV',
  description:
    'a row is a product, a variant in the group of its configurable product; additional_attributes by their keys, categories and images as lists',
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
  open: (reading, options) => readMagento(reading, options),
});

/** As many variants as a catalog of this service may have. */
const VARIANTS = 2_000_000;
const LISTS = new Set(['categories', 'additional_images', 'additional_image_labels']);
/** They group variants and pair labels with options; a price and a colour of them belong to other products. */
const OF_VARIANTS = new Set(['configurable_variations', 'configurable_variation_labels']);

/** Reads the file twice: a configurable product names its variants, and stands behind them. */
async function* readMagento(
  { bytes, notes, place: { tempDir, signal } }: FormatReading,
  options: CsvOptions,
): AsyncGenerator<SourceRow[]> {
  const file = await openNamelessFile(tempDir);
  try {
    for await (const _ of writeSpool(cutChunks(bytes, signal), file));
    const parents = await findParents(readFile(file, { notes: new ReadingNotes(), options, signal }));
    for await (const rows of readFile(file, { notes, options, signal }))
      yield rows.map((row) => readProduct(row, parents, notes));
  } finally {
    await file.close();
  }
}

interface FileReading {
  readonly notes: ReadingNotes;
  readonly options: CsvOptions;
  readonly signal: AbortSignal | undefined;
}

async function* readFile(
  file: FileHandle,
  { notes, options, signal }: FileReading,
): AsyncGenerator<SourceRow[]> {
  const own = new ReadingNotes();
  for await (const rows of readCsv(decodeText(readSpool(file, signal), own), own, options)) {
    Object.assign(notes.found, own.found);
    yield rows;
  }
}

const textOf = ({ values }: SourceRow, name: string): string => String(values[name] ?? '');

async function findParents(batches: AsyncIterable<SourceRow[]>): Promise<ReadonlyMap<string, string>> {
  const parents = new Map<string, string>();
  for await (const row of flatten(batches))
    for (const variation of textOf(row, 'configurable_variations').split('|')) {
      const sku = /(?:^|,)\s*sku=([^,]+)/.exec(variation)?.[1]?.trim();
      if (sku !== undefined) parents.set(sku, textOf(row, 'sku'));
      if (parents.size > VARIANTS)
        throw new FormatProblem('too_large', `The file has more than ${VARIANTS} variants`);
    }
  return parents;
}

async function* flatten(batches: AsyncIterable<SourceRow[]>): AsyncGenerator<SourceRow> {
  for await (const rows of batches) yield* rows;
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

function addColumn(
  values: RowValues,
  { name, text }: { name: string; text: string },
  notes: ReadingNotes,
): void {
  if (name === 'additional_attributes') addAttributes(values, text, notes);
  else if (LISTS.has(name)) for (const value of splitList(text, ',')) values.add(name, value, true);
  else if (!OF_VARIANTS.has(name)) values.add(name, text);
}

const splitList = (text: string, separator: string | RegExp): string[] =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** `color=red|blue,size=M`: behind a comma without a key a value goes on. */
function addAttributes(values: RowValues, text: string, notes: ReadingNotes): void {
  for (const pair of splitList(text, /,(?=[\w.-]{1,100}=)/)) {
    const [, key = '', list = ''] = /^([^=]+)=([\s\S]*)$/.exec(pair) ?? [];
    if (key === '') notes.noteUnread('additional_attributes');
    const column = values.values[key] === undefined ? key : `additional_attributes.${key}`;
    for (const value of splitList(list, /[|\n]/)) values.add(column, value);
  }
}
