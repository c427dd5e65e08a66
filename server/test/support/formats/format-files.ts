/** Makes files of every size for the tests of the formats; none is stored in the repository. */

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { crc32, createDeflateRaw } from 'node:zlib';

export type LargeFormat = 'csv' | 'json' | 'ndjson' | 'xml' | 'bmecat';

const BLOCK_ROWS = 500;
const CHUNK_BYTES = 64 * 1024;

/** Rows between head and tail; `row` counts from 0 within a block that repeats. */
const WRITERS: Record<LargeFormat, { head: string; row: (row: number) => string; tail: string }> = {
  csv: {
    head: 'sku;name;description;price;gtin;brand;category;url;image;stock\n',
    row: (row) =>
      `SKU-${row};Cordless drill ${row};"Two batteries, ""case"" and charger – für Profis ${row}";19,90;4006381333931;Bosch;Tools > Drills;https://shop.example/p/${row};https://shop.example/i/${row}.jpg;${row}\n`,
    tail: '',
  },
  json: {
    head: '{"meta":{"count":1},"data":{"products":[',
    row: (row) => `${row === 0 ? '' : ','}${writeJson(row)}`,
    tail: ']}}',
  },
  ndjson: { head: '', row: (row) => `${writeJson(row)}\n`, tail: '' },
  xml: {
    head: '<?xml version="1.0" encoding="UTF-8"?>\n<catalog><products>\n',
    row: (row) =>
      `<product id="${row}"><sku>SKU-${row}</sku><name>Cordless drill ${row}</name><description><![CDATA[Two batteries & charger – für Profis]]></description><price currency="EUR">19.90</price><gtin>4006381333931</gtin><brand>Bosch</brand><category>Tools &gt; Drills</category><url>https://shop.example/p/${row}</url><image>https://shop.example/i/${row}.jpg</image><image>https://shop.example/i/${row}-2.jpg</image></product>\n`,
    tail: '</products></catalog>',
  },
  bmecat: {
    head: '<?xml version="1.0" encoding="UTF-8"?>\n<BMECAT version="2005"><HEADER><CATALOG><LANGUAGE>deu</LANGUAGE><CURRENCY>EUR</CURRENCY></CATALOG></HEADER><T_NEW_CATALOG>\n',
    row: (row) =>
      `<PRODUCT><SUPPLIER_PID>SKU-${row}</SUPPLIER_PID><PRODUCT_DETAILS><DESCRIPTION_SHORT>Cordless drill ${row}</DESCRIPTION_SHORT><DESCRIPTION_LONG>Two batteries and charger – für Profis</DESCRIPTION_LONG><MANUFACTURER_NAME>Bosch</MANUFACTURER_NAME></PRODUCT_DETAILS><PRODUCT_FEATURES><FEATURE><FNAME>Voltage</FNAME><FVALUE>18</FVALUE><FUNIT>V</FUNIT></FEATURE><FEATURE><FNAME>Weight</FNAME><FVALUE>1.4</FVALUE><FUNIT>kg</FUNIT></FEATURE></PRODUCT_FEATURES><PRODUCT_PRICE_DETAILS><PRODUCT_PRICE price_type="net_list"><PRICE_AMOUNT>99.00</PRICE_AMOUNT></PRODUCT_PRICE></PRODUCT_PRICE_DETAILS></PRODUCT>\n`,
    tail: '</T_NEW_CATALOG></BMECAT>',
  },
};

function writeJson(row: number): string {
  return JSON.stringify({
    id: `SKU-${row}`,
    name: `Cordless drill ${row}`,
    description: 'Two batteries, "case" and charger – für Profis',
    price: { value: 19.9, currency: 'EUR' },
    gtin: '4006381333931',
    brand: 'Bosch',
    categories: ['Tools', 'Drills'],
    url: `https://shop.example/p/${row}`,
    images: [{ url: `https://shop.example/i/${row}.jpg` }, { url: `https://shop.example/i/${row}-2.jpg` }],
    stock: row,
  });
}

/** @returns a file of at least the given size, generated while it is read */
export async function* makeLargeFile(format: LargeFormat, sizeBytes: number): AsyncGenerator<Uint8Array> {
  const { head, row, tail } = WRITERS[format];
  const rows = Array.from({ length: BLOCK_ROWS }, (_, index) => row(index)).join('');
  const block = Buffer.from(rows);
  const separator = Buffer.from(format === 'json' ? ',' : '');
  yield Buffer.from(head);
  for (let written = 0; written < sizeBytes; written += block.length) {
    if (written > 0 && separator.length > 0) yield separator;
    for (let start = 0; start < block.length; start += CHUNK_BYTES)
      yield block.subarray(start, start + CHUNK_BYTES);
  }
  yield Buffer.from(tail);
}

export interface ZipPart {
  readonly name: string;
  readonly content: Iterable<string>;
}

/** Writes a zip with the sizes after each part, like programs that do not know the sizes in advance. */
export async function writeZip(path: string, parts: readonly ZipPart[]): Promise<void> {
  const file = createWriteStream(path);
  const directory: Buffer[] = [];
  let position = 0;
  const write = async (bytes: Uint8Array) => {
    position += bytes.length;
    if (!file.write(bytes)) await once(file, 'drain');
  };
  for (const { name, content } of parts) {
    const start = position;
    await write(localHeader(name));
    const sizes = { crc: 0, packed: 0, unpacked: 0 };
    for await (const chunk of deflate(content, sizes)) await write(chunk);
    await write(descriptor(sizes));
    directory.push(directoryEntry(name, start, sizes));
  }
  const directoryStart = position;
  for (const entry of directory) await write(entry);
  await write(endOfDirectory(directory.length, directoryStart, position - directoryStart));
  file.end();
  await finished(file);
}

interface Sizes {
  crc: number;
  packed: number;
  unpacked: number;
}

async function* deflate(content: Iterable<string>, sizes: Sizes): AsyncGenerator<Buffer> {
  const packer = createDeflateRaw({ level: 1 });
  const feeding = (async () => {
    for (const text of content) {
      const bytes = Buffer.from(text);
      sizes.crc = crc32(bytes, sizes.crc);
      sizes.unpacked += bytes.length;
      if (!packer.write(bytes)) await once(packer, 'drain');
    }
    packer.end();
  })();
  for await (const chunk of packer as AsyncIterable<Buffer>) {
    sizes.packed += chunk.length;
    yield chunk;
  }
  await feeding;
}

const FLAGS = 0x0808;
const DEFLATED = 8;

function localHeader(name: string): Buffer {
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(FLAGS, 6);
  header.writeUInt16LE(DEFLATED, 8);
  header.writeUInt16LE(Buffer.byteLength(name), 26);
  return Buffer.concat([header, Buffer.from(name)]);
}

function descriptor({ crc, packed, unpacked }: Sizes): Buffer {
  const sizes = Buffer.alloc(16);
  for (const [index, value] of [0x08074b50, crc, packed, unpacked].entries())
    sizes.writeUInt32LE(value, index * 4);
  return sizes;
}

function directoryEntry(name: string, start: number, { crc, packed, unpacked }: Sizes): Buffer {
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(20, 4);
  entry.writeUInt16LE(20, 6);
  entry.writeUInt16LE(FLAGS, 8);
  entry.writeUInt16LE(DEFLATED, 10);
  for (const [index, value] of [crc, packed, unpacked].entries()) entry.writeUInt32LE(value, 16 + index * 4);
  entry.writeUInt16LE(Buffer.byteLength(name), 28);
  entry.writeUInt32LE(start, 42);
  return Buffer.concat([entry, Buffer.from(name)]);
}

function endOfDirectory(count: number, start: number, size: number): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(start, 16);
  return end;
}

export interface BookParts {
  readonly sheets: readonly {
    readonly name: string;
    readonly rows: Iterable<string>;
    readonly state?: string;
  }[];
  readonly texts?: Iterable<string>;
  /** Number formats by style number from 1; style 0 has none. */
  readonly styles?: readonly (number | string)[];
  readonly startsIn1904?: boolean;
}

const RELATION = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const FIRST_OWN_FORMAT = 164;

/** Writes a workbook with the parts that Excel writes. Rows and texts are given as XML. */
export function writeBook(path: string, book: BookParts): Promise<void> {
  return writeZip(path, bookParts(book));
}

export function bookParts({ sheets, texts = [], styles = [], startsIn1904 = false }: BookParts): ZipPart[] {
  const sheetLinks = sheets.map((_, index) =>
    link(`s${index}`, 'worksheet', `worksheets/sheet${index + 1}.xml`),
  );
  const bookSheets = sheets.map(
    ({ name, state }, index) =>
      `<sheet name="${name}" sheetId="${index + 1}"${state === undefined ? '' : ` state="${state}"`} r:id="s${index}"/>`,
  );
  const links = [
    ...sheetLinks,
    link('st', 'styles', '/xl/styles.xml'),
    link('tx', 'sharedStrings', 'sharedStrings.xml'),
  ];
  return [
    part(
      '[Content_Types].xml',
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    ),
    part('_rels/.rels', relationships([link('b', 'officeDocument', 'xl/workbook.xml')])),
    part(
      'xl/workbook.xml',
      `<workbook ${MAIN} xmlns:r="${RELATION}"><workbookPr date1904="${startsIn1904 ? 1 : 0}"/><sheets>${bookSheets.join('')}</sheets></workbook>`,
    ),
    part('xl/_rels/workbook.xml.rels', relationships(links)),
    part('xl/styles.xml', writeStyles(styles)),
    ...sheets.map(({ rows }, index) => ({
      name: `xl/worksheets/sheet${index + 1}.xml`,
      content: wrap(`${DECLARATION}<worksheet ${MAIN}><sheetData>`, rows, '</sheetData></worksheet>'),
    })),
    { name: 'xl/sharedStrings.xml', content: wrap(`${DECLARATION}<sst ${MAIN}>`, texts, '</sst>') },
  ];
}

const part = (name: string, xml: string): ZipPart => ({ name, content: [DECLARATION + xml] });
const link = (id: string, kind: string, target: string): string =>
  `<Relationship Id="${id}" Type="${RELATION}/${kind}" Target="${target}"/>`;
const relationships = (links: readonly string[]): string =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${links.join('')}</Relationships>`;

/** Can be read repeatedly if its content can. */
function wrap(head: string, content: Iterable<string>, tail: string): Iterable<string> {
  return {
    *[Symbol.iterator]() {
      yield head;
      yield* content;
      yield tail;
    },
  };
}

function writeStyles(styles: readonly (number | string)[]): string {
  const own = styles.filter((style) => typeof style === 'string');
  const formats = own.map(
    (code, index) => `<numFmt numFmtId="${FIRST_OWN_FORMAT + index}" formatCode="${escapeXml(code)}"/>`,
  );
  const cells = [0, ...styles].map((style) => {
    const id = typeof style === 'number' ? style : FIRST_OWN_FORMAT + own.indexOf(style);
    return `<xf numFmtId="${id}" fontId="0"/>`;
  });
  return `<styleSheet ${MAIN}><numFmts>${formats.join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${cells.join('')}</cellXfs></styleSheet>`;
}

export function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** A sheet of eight columns: two texts unique to a row, one of a few, numbers, a date; with a header. */
export function makeLargeBook(rowCount: number): BookParts {
  return {
    styles: [14],
    texts: largeTexts(rowCount),
    sheets: [{ name: 'Products', rows: largeRows(rowCount) }],
  };
}

const BRANDS = 50;
const HEADINGS = ['sku', 'name', 'brand', 'price', 'stock', 'gtin', 'since', 'note'];

function* largeTexts(rowCount: number): Generator<string> {
  const shared = [...HEADINGS, ...Array.from({ length: BRANDS }, (_, brand) => `Brand ${brand}`)];
  for (const text of shared) yield `<si><t>${text}</t></si>`;
  for (let row = 2; row <= rowCount; row += 1)
    yield `<si><t>SKU-${row}</t></si><si><t>Cordless drill with two batteries and a case, number ${row}</t></si>`;
}

function* largeRows(rowCount: number): Generator<string> {
  yield `<row r="1">${HEADINGS.map((_, index) => `<c r="${'ABCDEFGH'[index]}1" t="s"><v>${index}</v></c>`).join('')}</row>`;
  for (let row = 2; row <= rowCount; row += 1) {
    const text = HEADINGS.length + BRANDS + (row - 2) * 2;
    const brand = HEADINGS.length + (row % BRANDS);
    yield `<row r="${row}"><c r="A${row}" t="s"><v>${text}</v></c><c r="B${row}" t="s"><v>${text + 1}</v></c><c r="C${row}" t="s"><v>${brand}</v></c><c r="D${row}"><v>${(row % 1000) + 0.99}</v></c><c r="E${row}"><v>${row % 77}</v></c><c r="F${row}"><v>4006381333931</v></c><c r="G${row}" s="1"><v>${40_000 + (row % 5000)}</v></c><c r="H${row}" t="inlineStr"><is><t>Note ${row % 9}</t></is></c></row>`;
  }
}
