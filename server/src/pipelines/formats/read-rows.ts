import { BMECAT_MAPPING, readBmecat } from './bmecat/bmecat.ts';
import { type ByteStream, cutChunks, readAfterPeek, type TextStream } from './chunks.ts';
import { readCsv } from './csv/csv.ts';
import { decodeText } from './decode.ts';
import type { DefaultMapping, Format } from './format.ts';
import { FormatProblem } from './format-problem.ts';
import { GOOGLE_MERCHANT_MAPPING, readGoogleMerchant } from './google-merchant/google-merchant.ts';
import { readJson, readNdjson } from './json/json.ts';
import { readNative } from './native/native.ts';
import { readShopify, SHOPIFY_MAPPING } from './shopify-csv/shopify-csv.ts';
import { ReadingNotes, reportDamage, type SourceRow } from './source-row.ts';
import type { SpoolPlace } from './spool.ts';
import { readXlsx } from './xlsx/xlsx.ts';
import { readXml } from './xml/xml.ts';

export interface SourceReading extends AsyncIterable<readonly SourceRow[]> {
  /** Names of columns in the order of their first appearance, as far as rows were read. */
  readonly columns: readonly string[];
  /** What was found out about the file: `encoding`, `delimiter`, `path`, `record`, `sheet`, `feed`. */
  readonly found: Readonly<Record<string, string>>;
}

export interface ReadingPlace extends SpoolPlace {
  /** As whoever sent the file named its encoding; a hint where the file is not UTF-8. */
  readonly charset?: string | undefined;
}

/**
 * Reads a source, which is already unpacked, in batches of rows. What is held at a time is bounded whatever the size of
 * the source; a batch is what one chunk of the source makes. To be iterated once; leaving the loop lets go of the source.
 * @throws FormatProblem while it is iterated, also after many rows: then none of them may take effect; what the source
 * itself throws passes through
 */
export function readRows(format: Format, bytes: ByteStream, place: ReadingPlace): SourceReading {
  const notes = new ReadingNotes();
  return {
    get columns() {
      return notes.columns;
    },
    found: notes.found,
    [Symbol.asyncIterator]: () => noteRows(openReader(format, { bytes, notes, place }), notes),
  };
}

/** @returns undefined where the columns are not known before the file is seen */
export function findDefaultMapping(type: Format['type']): DefaultMapping | undefined {
  switch (type) {
    case 'google-merchant':
      return GOOGLE_MERCHANT_MAPPING;
    case 'shopify-csv':
      return SHOPIFY_MAPPING;
    case 'bmecat':
      return BMECAT_MAPPING;
    default:
      return undefined;
  }
}

interface Reading {
  readonly bytes: ByteStream;
  readonly notes: ReadingNotes;
  readonly place: ReadingPlace;
}

function openReader(format: Format, { bytes, notes, place }: Reading): AsyncIterable<readonly SourceRow[]> {
  const { charset, signal } = place;
  const decode = (encoding?: string, isMarkup = false): TextStream =>
    refuseWebPage(decodeText(cutChunks(bytes, signal), notes, { encoding, charset, isMarkup }));
  switch (format.type) {
    case 'csv':
      return readCsv(decode(format.encoding), notes, format);
    case 'tsv':
      return readCsv(decode(format.encoding), notes, { ...format, delimiter: '\t' });
    case 'json':
      return readJson(decode(), notes, format);
    case 'ndjson':
      return readNdjson(decode());
    case 'xml':
      return readXml(decode(undefined, true), notes, format);
    case 'xlsx':
      return readXlsx(bytes, notes, { ...format, ...place });
    case 'google-merchant':
      return readGoogleMerchant(decode(format.encoding, true), notes);
    case 'shopify-csv':
      return readShopify(decode(format.encoding), notes, format);
    case 'bmecat':
      return readBmecat(bytes, notes, { ...format, ...place });
    case 'native':
      return readNative(decode(), notes);
  }
}

const PAGE_HEAD_CHARACTERS = 512;
const WEB_PAGE = /^\s*<(?:!doctype\s+)?html[\s>]/i;

/** What a server sends in place of a file: a page to sign in, or one that says that something is not there. */
function refuseWebPage(text: TextStream): TextStream {
  return readAfterPeek(text, PAGE_HEAD_CHARACTERS, (head, whole) => {
    if (WEB_PAGE.test(head)) throw new FormatProblem('refused', 'The file is a web page (HTML)');
    return whole;
  });
}

async function* noteRows(
  batches: AsyncIterable<readonly SourceRow[]>,
  notes: ReadingNotes,
): AsyncGenerator<readonly SourceRow[]> {
  for await (const rows of batches) {
    notes.noteRows(rows);
    yield notes.isDamaged ? rows.map(reportDamage) : rows;
  }
}
