/** The formats that the service reads: a file becomes rows. */
import { type Static, Type } from 'typebox';
import { bmecat } from './bmecat/read-bmecat.ts';
import { csv, tsv } from './csv/read-csv.ts';
import { etimXchange } from './etim-xchange/read-etim-xchange.ts';
import { googleMerchant } from './google-merchant/read-google-merchant.ts';
import {
  cutChunks,
  type DefaultMapping,
  decodeText,
  FormatProblem,
  type FormatReading,
  type InputFormat,
  ReadingNotes,
  readAfterPeek,
  reportDamage,
  type SourceRow,
  type TextStream,
} from './input/input.ts';
import { json } from './json/read-json.ts';
import { native } from './json/read-native.ts';
import { ndjson } from './json/read-ndjson.ts';
import { magentoCsv } from './magento-csv/read-magento-csv.ts';
import { shopifyCsv } from './shopify-csv/read-shopify-csv.ts';
import type { ByteStream } from './streams/streams.ts';
import { woocommerceCsv } from './woocommerce-csv/read-woocommerce-csv.ts';
import { xlsx } from './xlsx/read-xlsx.ts';
import { xml } from './xml/read-xml.ts';

/** Everything else about formats is derived from this list: docs/openapi.json, the console, suggestions and runs. */
const INPUT_FORMATS = [
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

/** How the file of a source is written: its format, with options. */
export const InputFormatSchema = Type.Union(INPUT_FORMATS.map(({ schema }) => schema));
export type InputFormatSettings = Static<(typeof INPUT_FORMATS)[number]['schema']>;

/** @throws Error for an unknown type; the type of a stored definition was checked before */
export function getInputFormat(type: InputFormatSettings['type']): InputFormat<InputFormatSettings> {
  const format: InputFormat<InputFormatSettings> | undefined = INPUT_FORMATS.find(
    (candidate) => candidate.type === type,
  );
  if (format === undefined) throw new Error(`There is no format ${type}`);
  return format;
}

/** @returns undefined if the columns are not known before the file is read */
export function findDefaultMapping(type: InputFormatSettings['type']): DefaultMapping | undefined {
  const { mapping } = getInputFormat(type);
  return typeof mapping === 'string' ? undefined : mapping;
}

/** The default mappings of all formats. Files of other formats may have columns of the same names. */
export const DEFAULT_MAPPINGS: readonly DefaultMapping[] = INPUT_FORMATS.flatMap(
  ({ type }) => findDefaultMapping(type) ?? [],
);

/** The rows of a file, and the notes about it so far. */
export type SourceReading = AsyncIterable<readonly SourceRow[]> &
  Pick<ReadingNotes, 'columns' | 'found' | 'unread'>;

export interface ReadingPlace {
  readonly tempDir: string;
  /** The sender's name for the encoding of the file. It is only a hint, for a file that is not UTF-8. */
  readonly charset?: string | undefined;
}

const PAGE_HEAD_CHARACTERS = 512;

/**
 * Reads an unpacked source in batches of rows. A batch contains the rows of one chunk of the source, so memory is
 * bounded whatever the size of the source. Iterate once; leaving the loop closes the source.
 * @throws FormatProblem during the iteration, possibly after many rows; none of these rows may take effect then. Errors
 * of the source pass through.
 */
export function readRows(
  format: InputFormatSettings,
  bytes: ByteStream,
  { tempDir, charset }: ReadingPlace,
): SourceReading {
  const notes = new ReadingNotes();
  const decode = (encoding?: string, isMarkup = false): TextStream => {
    const text = decodeText(cutChunks(bytes), notes, { encoding, charset, isMarkup });
    // A server may send a web page instead of a file, such as a sign-in page or a page for an address that does not
    // exist.
    return readAfterPeek(text, PAGE_HEAD_CHARACTERS, (head, whole) => {
      if (!/^\s*<(?:!doctype\s+)?html[\s>]/i.test(head)) return whole;
      throw new FormatProblem('refused', 'The file is a web page (HTML)');
    });
  };
  const reading: FormatReading = { bytes, notes, tempDir, decode };
  const open = () => noteRows(getInputFormat(format.type).open(reading, format), notes);
  return Object.assign(notes, { [Symbol.asyncIterator]: open });
}

async function* noteRows(batches: AsyncIterable<readonly SourceRow[]>, notes: ReadingNotes) {
  for await (const rows of batches) {
    if (rows.length === 0) continue;
    notes.noteRows(rows);
    yield notes.isDamaged ? rows.map(reportDamage) : rows;
  }
}
