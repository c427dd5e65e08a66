import type { FileHandle } from 'node:fs/promises';
import { Type } from 'typebox';
import { type ByteStream, cutChunks, parseText } from '../chunks.ts';
import { decodeText } from '../decode.ts';
import { defineFormat } from '../format.ts';
import { FormatProblem } from '../format-problem.ts';
import type { ReadingNotes, SourceRow } from '../source-row.ts';
import { openNamelessFile, readSpool, type SpoolPlace, writeSpool } from '../spool.ts';
import { toSource, type XmlChoice, type XmlElement, XmlElements } from '../xml/xml.ts';
import { BmecatIndex } from './bmecat-index.ts';
import { CATEGORY_SEPARATOR, readProduct } from './bmecat-product.ts';

export const bmecat = defineFormat({
  type: 'bmecat',
  label: 'BMEcat',
  description:
    'a row is a product of BMEcat 1.01, 1.2 or 2005; names of 2005, features by their names with units, images, categories',
  options: {
    language: Type.Optional(
      Type.String({
        minLength: 2,
        maxLength: 10,
        'x-label': 'Language',
        description: 'as deu or de, for texts in several languages; default: the language of the catalog',
      }),
    ),
  },
  /** Columns have the names of BMEcat 2005 for catalogs of 1.2 too. */
  mapping: {
    identifier: 'SUPPLIER_PID',
    name: 'DESCRIPTION_SHORT',
    images: ['images'],
    categories: { from: 'categories', separator: CATEGORY_SEPARATOR },
    attributes: { Brand: 'MANUFACTURER_NAME', '*': '*' },
  },
  endings: [],
  open: ({ bytes, notes, place }, options) => readBmecat(bytes, notes, { ...options, ...place }),
});

interface BmecatOptions {
  /** Which of several texts is taken; default: the language that the catalog names. */
  readonly language?: string | undefined;
}

/**
 * Reads a catalog twice: which product is in which group stands behind the last product. The first time it is written to
 * a file. A DOCTYPE is common: it names the DTD of the standard, and declares what a supplier adds to it.
 */
async function* readBmecat(
  bytes: ByteStream,
  notes: ReadingNotes,
  { tempDir, signal, language }: BmecatOptions & SpoolPlace,
): AsyncGenerator<SourceRow[]> {
  const file = await openNamelessFile(tempDir);
  try {
    const index = await readIndex(writeSpool(cutChunks(bytes, signal), file), notes, language);
    yield* readProducts(file, { notes, index, signal });
  } finally {
    await file.close();
  }
}

async function readIndex(bytes: ByteStream, notes: ReadingNotes, language?: string): Promise<BmecatIndex> {
  const index = new BmecatIndex(language);
  let isCatalog = false;
  const isWanted: XmlChoice['isWanted'] = (name, path, attributes) => {
    if (path.length === 0) isCatalog = name === 'BMECAT';
    return path.length > 0 && index.isWanted(name, path, attributes);
  };
  const text = decodeText(bytes, notes, { isMarkup: true });
  for await (const elements of parseText(text, new XmlElements({ isWanted, isDoctypeRead: true })))
    for (const element of elements) index.take(element);
  if (!isCatalog) throw new FormatProblem('damaged', 'The file is XML, but no BMEcat catalog');
  const languages = index.describeLanguages();
  if (languages !== undefined) notes.found.language = languages;
  return index;
}

interface ProductReading {
  readonly notes: ReadingNotes;
  readonly index: BmecatIndex;
  readonly signal?: AbortSignal | undefined;
}

async function* readProducts(
  file: FileHandle,
  { notes, index, signal }: ProductReading,
): AsyncGenerator<SourceRow[]> {
  let count = 0;
  const toRow = (element: XmlElement): SourceRow => {
    count += 1;
    return { number: count, values: readProduct(element, index), source: toSource(element) };
  };
  const text = decodeText(readSpool(file, signal), notes, { isMarkup: true });
  const parser = new XmlElements({ isWanted: isProduct, isDoctypeRead: true });
  for await (const elements of parseText(text, parser)) yield elements.map(toRow);
}

/** Products stand directly in the transaction: T_NEW_CATALOG, T_UPDATE_PRODUCTS, T_UPDATE_PRICES, T_NEW_PRODUCTDATA. */
function isProduct(name: string, path: readonly string[]): boolean {
  return (
    (name === 'ARTICLE' || name === 'PRODUCT') && path.length === 2 && path[1]?.startsWith('T_') === true
  );
}
