/** The door of formats: a file becomes rows. Nothing in a file is trusted: sizes, depths and counts are bounded. */
import { type Static, Type } from 'typebox';
import type { ByteStream } from '../streams.ts';
import { bmecat } from './bmecat/bmecat.ts';
import { csv, tsv } from './csv/csv.ts';
import { decodeText } from './decode.ts';
import { etimXchange } from './etim-xchange/etim-xchange.ts';
import {
  cutChunks,
  type DefaultMapping,
  type FeedFormat,
  FormatProblem,
  type FormatReading,
  ReadingNotes,
  readAfterPeek,
  reportDamage,
  type SourceRow,
  type TextStream,
} from './format.ts';
import { googleMerchant } from './google-merchant/google-merchant.ts';
import { json, native, ndjson } from './json/json.ts';
import { magentoCsv } from './magento-csv/magento-csv.ts';
import { shopifyCsv } from './shopify-csv/shopify-csv.ts';
import { woocommerceCsv } from './woocommerce-csv/woocommerce-csv.ts';
import { xlsx } from './xlsx/xlsx.ts';
import { xml } from './xml/xml.ts';

export {
  findUnitMember,
  isAmount,
  NAMED_LISTS,
  type NamedList,
  SILENT_LISTS,
  UNIT_WORDS,
} from './etim-xchange/etim-xchange.ts';
export type { Columns, ColumnValue, DefaultMapping, RowCells, RowProblem, SourceRow } from './format.ts';
export { cellOf, FormatProblem, isSelector, listColumns } from './format.ts';

/** Everything else about formats is derived from this list: docs/openapi.json, the console, suggestions, the runs. */
const FORMATS = [
  csv,
  tsv,
  json,
  ndjson,
  xml,
  xlsx,
  googleMerchant,
  shopifyCsv,
  woocommerceCsv,
  magentoCsv,
  bmecat,
  etimXchange,
  native,
] as const;

/** How a source is written. */
export const FormatSchema = Type.Union(FORMATS.map(({ schema }) => schema));
export type Format = Static<(typeof FORMATS)[number]['schema']>;

/** @throws Error for an unknown type: stored ones were checked */
export function getFormat(type: Format['type']): FeedFormat<Format> {
  const format: FeedFormat<Format> | undefined = FORMATS.find((one) => one.type === type);
  if (format === undefined) throw new Error(`There is no format ${type}`);
  return format;
}

/** @returns undefined if the columns are unknown before the file is read */
export function findDefaultMapping(type: Format['type']): DefaultMapping | undefined {
  const { mapping } = getFormat(type);
  return typeof mapping === 'string' ? undefined : mapping;
}

/** The mappings of the formats, with names of columns that files of other formats have as well. */
export const DEFAULT_MAPPINGS: readonly DefaultMapping[] = FORMATS.flatMap(
  ({ type }) => findDefaultMapping(type) ?? [],
);

/** The rows of a file, and what was found out about it so far. */
export type SourceReading = AsyncIterable<readonly SourceRow[]> &
  Pick<ReadingNotes, 'columns' | 'found' | 'unread'>;

export interface ReadingPlace {
  readonly tempDir: string;
  /** The sender's name for the encoding of the file; a hint if the file is not UTF-8. */
  readonly charset?: string | undefined;
}

const PAGE_HEAD_CHARACTERS = 512;

/**
 * Reads a source, which is already unpacked, in batches of rows. Memory is bounded whatever the size of the
 * source; a batch is what one chunk of the source makes. Iterate once; leaving the loop closes the source.
 * @throws FormatProblem while it is iterated, possibly after many rows, none of which may then take effect;
 * errors of the source pass through
 */
export function readRows(
  format: Format,
  bytes: ByteStream,
  { tempDir, charset }: ReadingPlace,
): SourceReading {
  const notes = new ReadingNotes();
  const decode = (encoding?: string, isMarkup = false): TextStream => {
    const text = decodeText(cutChunks(bytes), notes, { encoding, charset, isMarkup });
    // A server may send a sign-in page instead of a file, or one that says that something was not found.
    return readAfterPeek(text, PAGE_HEAD_CHARACTERS, (head, whole) => {
      if (!/^\s*<(?:!doctype\s+)?html[\s>]/i.test(head)) return whole;
      throw new FormatProblem('refused', 'The file is a web page (HTML)');
    });
  };
  const reading: FormatReading = { bytes, notes, tempDir, decode };
  const open = () => noteRows(getFormat(format.type).open(reading, format), notes);
  return Object.assign(notes, { [Symbol.asyncIterator]: open });
}

async function* noteRows(batches: AsyncIterable<readonly SourceRow[]>, notes: ReadingNotes) {
  for await (const rows of batches) {
    if (rows.length === 0) continue;
    notes.noteRows(rows);
    yield notes.isDamaged ? rows.map(reportDamage) : rows;
  }
}
