import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import { Type } from 'typebox';
import type { Entry } from 'yauzl';
import {
  type ColumnValue,
  copyText,
  createColumns,
  cutChunks,
  defineInputFormat,
  FormatProblem,
  type FormatReading,
  headerRowOption,
  nameByPlace,
  openTable,
  ReadingNotes,
  type RowProblem,
  type SourceRow,
  tooLarge,
  writePlainNumber,
} from '../input/input.ts';
import {
  type ByteStream,
  openNamelessFile,
  openZip,
  writeSpool,
  type ZipLimits,
} from '../streams/streams.ts';
import { chooseByPath, readElements, type XmlChoice, type XmlElement } from '../xml/read-xml.ts';
import { openTextStore, type TextStore } from './text-store.ts';

export const xlsx = defineInputFormat({
  type: 'xlsx',
  label: 'Excel (xlsx)',
  description: 'a row is a row of the sheet; dates are written as YYYY-MM-DD, and numbers without formatting',
  options: {
    sheet: Type.Optional(
      Type.Union(
        [Type.String({ minLength: 1, maxLength: 1_000 }), Type.Integer({ minimum: 1, maximum: 10_000 })],
        {
          'x-label': 'Sheet',
          description: 'name or number from 1; default: the first sheet that is not hidden',
        },
      ),
    ),
    headerRow: headerRowOption,
  },
  mapping: 'needed',
  endings: ['xlsx'],
  isTable: true,
  open: readXlsx,
});

/** @returns a batch of rows for each chunk of the sheet that completes some; empty rows are omitted */
async function* readXlsx(
  { bytes, notes, tempDir }: FormatReading,
  options: { readonly sheet?: string | number; readonly headerRow?: number },
): AsyncGenerator<SourceRow[]> {
  await using file = await openNamelessFile(tempDir);
  for await (const _ of writeSpool(bytes, file));
  const parts = await openParts(file);
  const book = await readBook(parts);
  const sheet = chooseSheet(book.sheets, options.sheet);
  notes.found.sheet = sheet.name;
  const others = book.sheets.filter((candidate) => candidate !== sheet && !candidate.isHidden);
  if (options.sheet === undefined && others.length > 0) notes.found.otherSheets = describeSheets(others);
  await using texts = await openTextStore(tempDir);
  const choice = { isChosen: (name: string) => name === 'si', keepsSpace: true };
  for await (const element of readPart(parts, book.textsPart, choice)) texts.add(readText(element));
  const table = openTable(notes, { headerRow: options.headerRow, textsOf });
  for await (const rows of readSheetRows(cutChunks(parts.read(sheet.part)), { book, texts }))
    yield table.take(rows).map((row) => nameCells(row, table.names));
  yield table.end().map((row) => nameCells(row, table.names));
}

function chooseSheet(sheets: readonly Sheet[], requested: string | number | undefined): Sheet {
  // A form sends the number as text. A sheet with that name takes precedence.
  const chosen =
    requested === undefined
      ? (sheets.find(({ isHidden }) => !isHidden) ?? sheets[0])
      : (sheets.find(({ name }) => name === requested) ?? sheets[Number(requested) - 1]);
  if (chosen !== undefined) return chosen;
  const available = sheets.length === 0 ? 'It has none' : `It has ${describeSheets(sheets)}`;
  throw new FormatProblem('not_found', `The workbook has no sheet ${requested ?? ''}. ${available}`);
}

const describeSheets = (sheets: readonly Sheet[]): string =>
  sheets
    .slice(0, 20)
    .map(({ name }) => `"${name.slice(0, 31)}"`)
    .join(', ');

interface SheetRow {
  readonly number: number;
  readonly cells: readonly Cell[];
}

/** @returns the non-empty rows of a sheet */
async function* readSheetRows(bytes: ByteStream, context: CellPlace): AsyncGenerator<SheetRow[]> {
  const isChosen = (name: string, path: readonly string[]) => name === 'row' && path.at(-1) === 'sheetData';
  let number = 0;
  for await (const elements of readElements(bytes, new ReadingNotes(), { isChosen, keepsSpace: true }))
    yield elements
      .map((element) => {
        // If a row omits its number, it is the next number.
        number = Number(element.attributes.get('r') ?? number + 1);
        return { number, cells: readCells(element, context) };
      })
      .filter(({ cells }) => cells.length > 0);
}

function textsOf({ cells }: SheetRow): string[] {
  const texts: string[] = [];
  for (const { column, text = '' } of cells) texts[column] = text;
  return texts;
}

/** Includes cells outside the header. Their column names show their position. */
function nameCells({ number, cells }: SheetRow, names: readonly string[]): SourceRow {
  const values = createColumns<ColumnValue>();
  const problems: RowProblem[] = [];
  for (const { column, text, problem } of cells) {
    const name = names[column] ?? nameByPlace(column);
    if (text !== undefined) values[name] = text;
    if (problem !== undefined) problems.push({ ...problem, column: name });
  }
  const row = { number, values, source: values };
  return problems.length === 0 ? row : { ...row, problems };
}

interface Cell {
  /** The number of the column, from 0. */
  readonly column: number;
  /** undefined if the cell has a problem instead. */
  readonly text: string | undefined;
  readonly problem?: Omit<RowProblem, 'column'>;
}

/** The last column that a sheet can have is XFD. */
const COLUMNS = 16_384;

interface CellPlace {
  readonly book: Book;
  readonly texts: TextStore;
}

/** @returns the non-empty cells, as they are displayed */
function readCells(row: XmlElement, context: CellPlace): Cell[] {
  const cells: Cell[] = [];
  let next = 0;
  for (const element of row.children) {
    const column = readColumn(element.attributes.get('r')) ?? next;
    next = column + 1;
    const read = column < COLUMNS ? readCell(element, context) : undefined;
    if (typeof read === 'object') cells.push({ column, text: undefined, problem: read });
    else if (read !== undefined && read !== '') cells.push({ column, text: read });
  }
  return cells;
}

function readCell(cell: XmlElement, context: CellPlace): string | Cell['problem'] {
  const partOf = (name: string) => cell.children.find((child) => child.name === name);
  const type = cell.attributes.get('t') ?? 'n';
  const inline = partOf('is');
  if (type === 'inlineStr') return inline && readText(inline);
  const value = partOf('v');
  if (value !== undefined) return readValue(value.text, cell, context);
  if (partOf('f') === undefined) return undefined;
  const message =
    'contains a formula without its result. Please open and save the file in a spreadsheet program';
  return { code: 'cell', message };
}

function readValue(
  value: string,
  { attributes }: XmlElement,
  { book, texts }: CellPlace,
): string | Cell['problem'] {
  const style = book.styles[Number(attributes.get('s') ?? 0)] ?? NUMBER;
  switch (attributes.get('t') ?? 'n') {
    case 's':
      return texts.find(Number(value)) ?? { code: 'cell', message: 'refers to a text that does not exist' };
    case 'b':
      return value === '1' ? 'true' : 'false';
    case 'e':
      return { code: 'cell', message: `shows an error: ${value.slice(0, 20)}` };
    case 'n':
      return value === '' ? '' : writeNumber(value.trim(), style, book.startsIn1904);
    default:
      return unescapeText(value);
  }
}

/** @returns the column of a reference such as `BC12`, from 0 */
function readColumn(reference: string | undefined): number | undefined {
  if (reference === undefined) return undefined;
  let column = 0;
  for (let index = 0; index < reference.length && column <= COLUMNS; index += 1) {
    const letter = (reference.charCodeAt(index) | 0x20) - 0x60;
    if (letter < 1 || letter > 26) break;
    column = column * 26 + letter;
  }
  return column === 0 ? undefined : column - 1;
}

/** Excel allows 64,000 styles. */
const STYLES = 65_536;
const SHEETS = 10_000;
const LINKS = 10_000;
/**
 * The maximum length of names, addresses and formats of a workbook, which usually have some dozen characters. They are
 * in memory while the workbook is read.
 */
const NAME_CHARACTERS = 500;

type Book = Awaited<ReturnType<typeof readBook>>;

interface Sheet {
  readonly name: string;
  readonly part: string;
  readonly isHidden: boolean;
}

/** Reads the sheets of a workbook and the meaning of its numbers. @throws FormatProblem */
async function readBook(parts: ZipParts) {
  const bookPart = await findBookPart(parts);
  const links = await readLinks(parts, bookPart);
  const sheets: Sheet[] = [];
  let startsIn1904 = false;
  const isChosen = (name: string) => name === 'sheet' || name === 'workbookPr';
  for await (const element of readPart(parts, bookPart, { isChosen })) {
    if (element.name === 'workbookPr')
      startsIn1904 = /^(1|true)$/.test(element.attributes.get('date1904') ?? '');
    else if (sheets.length < SHEETS) sheets.push(...readSheet(element, links));
  }
  return {
    sheets,
    startsIn1904,
    /** The style for each number that a cell may refer to. */
    styles: await readStyles(parts, findByKind(links, 'styles')),
    /** The part with the shared texts. */
    textsPart: findByKind(links, 'sharedStrings'),
  };
}

interface Link {
  readonly id: string;
  /** The last word of the address that names the link's kind. */
  readonly kind: string;
  readonly part: string;
}

async function findBookPart(parts: ZipParts): Promise<string> {
  const part = findByKind(await readLinks(parts, ''), 'officeDocument') ?? 'xl/workbook.xml';
  const binary = 'The file is a binary workbook (.xlsb). Please save it as .xlsx';
  if (part.endsWith('.bin')) throw new FormatProblem('refused', binary);
  if (parts.has(part)) return part;
  throw new FormatProblem('damaged', 'The file is a zip archive, but it is not a workbook (.xlsx)');
}

async function readLinks(parts: ZipParts, ofPart: string): Promise<Link[]> {
  const folder = posix.dirname(ofPart);
  const linksPart = posix.join(folder, '_rels', `${posix.basename(ofPart)}.rels`);
  const links: Link[] = [];
  const isChosen = (name: string) => name === 'Relationship';
  for await (const { attributes } of readPart(parts, linksPart, { isChosen })) {
    if (links.length === LINKS) throw tooLarge('The workbook has more than 10,000 links');
    const target = shorten(attributes.get('Target'));
    links.push({
      id: shorten(attributes.get('Id')),
      kind: posix.basename(shorten(attributes.get('Type'))),
      part: target.startsWith('/') ? target.slice(1) : posix.join(folder, target),
    });
  }
  return links;
}

const findByKind = (links: readonly Link[], kind: string): string | undefined =>
  links.find((link) => link.kind === kind)?.part;

function readSheet({ attributes }: XmlElement, links: readonly Link[]): Sheet[] {
  // The attribute is r:id, and prefixes are dropped.
  const link = links.find(({ id }) => id === attributes.get('id'));
  if (link === undefined || link.kind !== 'worksheet') return [];
  const state = attributes.get('state') ?? 'visible';
  return [{ name: shorten(attributes.get('name')), part: link.part, isHidden: state !== 'visible' }];
}

async function readStyles(parts: ZipParts, part: string | undefined): Promise<NumberStyle[]> {
  const isStyle = chooseByPath('styleSheet/cellXfs/xf');
  const codes = new Map<number, string>();
  const formatIds: number[] = [];
  const isChosen: XmlChoice['isChosen'] = (name, path) => name === 'numFmt' || isStyle(name, path);
  for await (const { name, attributes } of readPart(parts, part, { isChosen })) {
    const formatId = Number(attributes.get('numFmtId'));
    if (name === 'xf') formatIds.push(formatId);
    else codes.set(formatId, shorten(attributes.get('formatCode')));
    if (formatIds.length > STYLES || codes.size > STYLES)
      throw tooLarge('The workbook has more than 65,536 styles');
  }
  return formatIds.map((formatId) => readNumberStyle(formatId, codes.get(formatId)));
}

/**
 * Returns the plain text of a shared or inline text: `t`, or the runs of a formatted text. Pronunciation (rPh) is
 * omitted.
 */
function readText(element: XmlElement): string {
  let text = '';
  for (const child of element.children) {
    if (child.name === 't') text += child.text;
    else if (child.name === 'r') text += readText(child);
  }
  return unescapeText(text);
}

/** Characters that XML cannot contain are written `_x000D_`. Source: ECMA-376, part 1, 22.9.2.19. */
function unescapeText(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** @returns nothing if the workbook has no such part */
async function* readPart(parts: ZipParts, part: string | undefined, choice: XmlChoice) {
  if (part === undefined || !parts.has(part)) return;
  for await (const elements of readElements(parts.read(part), new ReadingNotes(), choice)) yield* elements;
}

const shorten = (text: string | undefined): string => copyText((text ?? '').slice(0, NAME_CHARACTERS));

type NumberStyle =
  | { readonly kind: 'number' }
  /** Shown with leading zeros, such as article numbers and postal codes. */
  | { readonly kind: 'padded'; readonly digits: number }
  | { readonly kind: 'date' }
  | { readonly kind: 'duration' };

/** Formats that have a number but no text. Source: ECMA-376, part 1, 18.8.30. */
const isDateFormat = (id: number) =>
  (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58);
const DURATION_FORMAT = 46;
const PADDED = /^0{2,64}$/;
/** Parts that are not date codes: quoted texts, escaped or padding characters, colours, conditions and locales. */
const NO_CODE = /"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi;

const NUMBER: NumberStyle = { kind: 'number' };

/** @param code the text of a format that the workbook defines */
function readNumberStyle(formatId: number, code: string | undefined): NumberStyle {
  if (code === undefined && formatId === DURATION_FORMAT) return { kind: 'duration' };
  if (code === undefined) return isDateFormat(formatId) ? { kind: 'date' } : NUMBER;
  const [positive = ''] = code.slice(0, 1_000).replace(NO_CODE, '').split(';');
  if (/\[[hms]+\]/i.test(positive)) return { kind: 'duration' };
  if (/[ymdhs]/i.test(positive)) return { kind: 'date' };
  return PADDED.test(positive) ? { kind: 'padded', digits: positive.length } : NUMBER;
}

/** Excel shows and stores 15 digits. Further digits in the file are noise, as in 0.30000000000000004. */
const DIGITS = 15;
const PLAIN_INTEGER = /^-?\d+$/;

/** @returns the number as text without an exponent; text that is not a number is unchanged */
function writeNumber(text: string, style: NumberStyle, startsIn1904: boolean): string {
  if (style.kind === 'date' || style.kind === 'duration') {
    const serial = Number(text);
    const isTime = serial >= 0 && serial < LAST_DAY;
    if (isTime && style.kind === 'date') return writeDate(serial, startsIn1904);
    if (isTime) return writeClock(Math.round(serial * DAY_SECONDS));
  }
  const plain = writePlain(text);
  if (style.kind !== 'padded' || !PLAIN_INTEGER.test(plain) || plain.startsWith('-')) return plain;
  return plain.padStart(style.digits, '0');
}

function writePlain(text: string): string {
  if (PLAIN_INTEGER.test(text)) return text;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) return text;
  return writePlainNumber(String(Number(value.toPrecision(DIGITS))));
}

const DAY_SECONDS = 86_400;
/** Day 0 of both calendars, in days since 1970. */
const EPOCH_1900 = -25_569;
const EPOCH_1904 = -24_107;
/** Excel counts a 29 February 1900, which did not exist. */
const DAYS_BEFORE_LEAP = 60;
/** 9999-12-31 */
const LAST_DAY = 2_958_466;

/** @returns `2024-05-31`, `2024-05-31T14:30:00` or, without a day, `14:30:00` */
function writeDate(serial: number, startsIn1904: boolean): string {
  const seconds = Math.round(serial * DAY_SECONDS);
  const days = Math.floor(seconds / DAY_SECONDS);
  const clock = writeClock(seconds - days * DAY_SECONDS);
  if (days === 0 && !startsIn1904) return clock;
  const missing = !startsIn1904 && days < DAYS_BEFORE_LEAP ? 1 : 0;
  const sinceEpoch = days + missing + (startsIn1904 ? EPOCH_1904 : EPOCH_1900);
  const date = new Date(sinceEpoch * DAY_SECONDS * 1_000).toISOString().slice(0, 10);
  return seconds % DAY_SECONDS === 0 ? date : `${date}T${clock}`;
}

function writeClock(seconds: number): string {
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}

/** A workbook has a few dozen parts. A workbook with many pictures has a few thousand. */
const PARTS = 10_000;
/** The maximum size of the directory entry of a part. Names are short, and comments are not written. */
const ENTRY_BYTES = 2_000;
/** A sheet with 1,048,576 rows of twenty columns has about 1 GiB of XML. */
const PART_BYTES = 4 * 1024 * 1024 * 1024;
/** The XML of a sheet shrinks to a tenth, and that of equal rows to a fiftieth. A zip bomb shrinks to a thousandth. */
const RATIO = 200;
const RATIO_FROM_BYTES = 64 * 1024 * 1024;
/** The first bytes of an old .xls file, and of a new file with a password. */
const COMPOUND_FILE = 'd0cf11e0';

const limits: ZipLimits = {
  entries: PARTS,
  check({ fileNameLength, extraFieldLength, fileCommentLength }) {
    if (fileNameLength + extraFieldLength + fileCommentLength > ENTRY_BYTES)
      throw tooLarge('The name of a part of the workbook is too long');
  },
  tooMany: () => tooLarge(`The workbook has more than ${PARTS.toLocaleString('en')} parts`),
  damaged: (cause) =>
    new FormatProblem('damaged', `The file is not a complete workbook (.xlsx): ${cause.message}`, { cause }),
};

/** The parts of an Office file, which is a zip whose entries are read by name. */
type ZipParts = Awaited<ReturnType<typeof openParts>>;

/** @throws FormatProblem damaged, refused, too_large */
async function openParts(file: FileHandle) {
  const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
  if (buffer.toString('hex') === COMPOUND_FILE) {
    const message =
      'The file is an old Excel file (.xls) or protected by a password. Please save it as .xlsx without one';
    throw new FormatProblem('refused', message);
  }
  const zip = await openZip(file, limits);
  // The standard compares names without regard to case.
  const entries = new Map(zip.entries.map((entry) => [entry.fileName.toLowerCase(), entry]));
  return {
    has: (name: string): boolean => entries.has(name.toLowerCase()),
    /** @throws FormatProblem not_found, damaged, refused, too_large */
    async *read(name: string): AsyncGenerator<Uint8Array> {
      const entry = entries.get(name.toLowerCase());
      if (entry === undefined) throw new FormatProblem('not_found', `The workbook has no part ${name}`);
      if (entry.isEncrypted()) throw new FormatProblem('refused', 'The workbook is encrypted');
      let total = 0;
      for await (const chunk of zip.read(entry)) {
        total += chunk.length;
        checkSize(total, entry);
        yield chunk;
      }
    },
  };
}

function checkSize(total: number, { compressedSize, fileName }: Entry): void {
  if (total > PART_BYTES) throw tooLarge(`The part ${fileName} is larger than 4 GiB, the limit`);
  if (total <= RATIO_FROM_BYTES || total <= compressedSize * RATIO) return;
  throw tooLarge(`The part ${fileName} unpacks to more than ${RATIO} times its size`);
}
