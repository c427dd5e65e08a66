import { Type } from 'typebox';
import { type ByteStream, openNamelessFile, writeSpool } from '../../streams.ts';
import {
  type ColumnValue,
  createColumns,
  cutChunks,
  defineFormat,
  FormatProblem,
  type FormatReading,
  headerRow,
  nameByPlace,
  openTable,
  ReadingNotes,
  type RowProblem,
  type SourceRow,
} from '../format.ts';
import { readElements, type XmlElement } from '../xml/xml.ts';
import { openTextStore, type TextStore } from './text-store.ts';
import {
  type Book,
  type NumberStyle,
  openParts,
  readBook,
  readText,
  readTexts,
  type Sheet,
  unescapeText,
  writeNumber,
} from './xlsx-book.ts';

export const xlsx = defineFormat({
  type: 'xlsx',
  label: 'Excel (xlsx)',
  description: 'a row of the sheet; dates as YYYY-MM-DD, numbers plain',
  options: {
    sheet: Type.Optional(
      Type.Union(
        [Type.String({ minLength: 1, maxLength: 1_000 }), Type.Integer({ minimum: 1, maximum: 10_000 })],
        { 'x-label': 'Sheet', description: 'name or number from 1; default: the first that is not hidden' },
      ),
    ),
    headerRow,
  },
  mapping: 'needed',
  endings: ['xlsx'],
  isTable: true,
  open: (reading, options) => readXlsx(reading, options),
});

interface XlsxOptions {
  readonly sheet?: string | number | undefined;
  readonly headerRow?: number | undefined;
}

/** @returns a batch of rows for each chunk of the sheet that ends some; empty rows are left out */
async function* readXlsx(
  { bytes, notes, tempDir }: FormatReading,
  options: XlsxOptions,
): AsyncGenerator<SourceRow[]> {
  await using file = await openNamelessFile(tempDir);
  for await (const _ of writeSpool(bytes, file));
  const parts = await openParts(file);
  const book = await readBook(parts);
  const sheet = chooseSheet(book.sheets, options.sheet);
  notes.found.sheet = sheet.name;
  const others = book.sheets.filter((one) => one !== sheet && !one.isHidden);
  if (options.sheet === undefined && others.length > 0) notes.found.otherSheets = describeSheets(others);
  await using texts = await openTextStore(tempDir);
  await readTexts(parts, book, texts);
  const table = openTable(notes, { headerRow: options.headerRow, textsOf });
  for await (const rows of readSheetRows(cutChunks(parts.read(sheet.part)), { book, texts }))
    yield table.take(rows).map((row) => nameCells(row, table.names));
  yield table.end().map((row) => nameCells(row, table.names));
}

function chooseSheet(sheets: readonly Sheet[], requested: string | number | undefined): Sheet {
  const chosen = findSheet(sheets, requested);
  if (chosen !== undefined) return chosen;
  const there = sheets.length === 0 ? 'It has none' : `It has ${describeSheets(sheets)}`;
  throw new FormatProblem('not_found', `The workbook has no sheet ${requested ?? ''}. ${there}`);
}

const describeSheets = (sheets: readonly Sheet[]): string =>
  sheets
    .slice(0, 20)
    .map(({ name }) => `"${name.slice(0, 31)}"`)
    .join(', ');

function findSheet(sheets: readonly Sheet[], requested: string | number | undefined): Sheet | undefined {
  if (requested === undefined) return sheets.find(({ isHidden }) => !isHidden) ?? sheets[0];
  const named = sheets.find(({ name }) => name === requested);
  // A form sends the number as a text; a sheet of that name goes first.
  return named ?? sheets[Number(requested) - 1];
}

interface SheetRow {
  readonly number: number;
  readonly cells: readonly Cell[];
}

/** @returns the rows of a sheet that are not empty */
async function* readSheetRows(bytes: ByteStream, place: CellPlace): AsyncGenerator<SheetRow[]> {
  const isChosen = (name: string, path: readonly string[]) => name === 'row' && path.at(-1) === 'sheetData';
  let number = 0;
  for await (const elements of readElements(bytes, new ReadingNotes(), { isChosen, keepsSpace: true }))
    yield elements
      .map((element) => {
        // A row may leave out its number; then it is the next.
        number = Number(element.attributes.get('r') ?? number + 1);
        return { number, cells: readCells(element, place) };
      })
      .filter(({ cells }) => cells.length > 0);
}

function textsOf({ cells }: SheetRow): string[] {
  const texts: string[] = [];
  for (const { column, text = '' } of cells) texts[column] = text;
  return texts;
}

/** Cells beside the header stay, under names that show where they stand. */
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
  /** From 0. */
  readonly column: number;
  /** undefined when there is a problem instead. */
  readonly text: string | undefined;
  readonly problem?: Omit<RowProblem, 'column'>;
}

/** The last column that a sheet can have is XFD. */
const COLUMNS = 16_384;
const NUMBER: NumberStyle = { kind: 'number' };

/** What the cells of a sheet refer to. */
interface CellPlace {
  readonly book: Book;
  readonly texts: TextStore;
}

/** @returns the cells that are not empty, as they are shown */
function readCells(row: XmlElement, place: CellPlace): Cell[] {
  const cells: Cell[] = [];
  let next = 0;
  for (const element of row.children) {
    const column = readColumn(element.attributes.get('r')) ?? next;
    next = column + 1;
    const read = column < COLUMNS ? readCell(element, place) : undefined;
    if (typeof read === 'object') cells.push({ column, text: undefined, problem: read });
    else if (read !== undefined && read !== '') cells.push({ column, text: read });
  }
  return cells;
}

function readCell(cell: XmlElement, place: CellPlace): string | Cell['problem'] {
  const partOf = (name: string) => cell.children.find((child) => child.name === name);
  const type = cell.attributes.get('t') ?? 'n';
  const inline = partOf('is');
  if (type === 'inlineStr') return inline && readText(inline);
  const value = partOf('v');
  if (value !== undefined) return readValue(value.text, cell, place);
  return partOf('f') === undefined ? undefined : NOT_COMPUTED;
}

function readValue(
  value: string,
  { attributes }: XmlElement,
  { book, texts }: CellPlace,
): string | Cell['problem'] {
  const style = book.styles[Number(attributes.get('s') ?? 0)] ?? NUMBER;
  switch (attributes.get('t') ?? 'n') {
    case 's':
      return texts.find(Number(value)) ?? { code: 'cell', message: 'refers to a text that is not there' };
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

const NOT_COMPUTED = {
  code: 'cell',
  message: 'holds a formula without its result. Please open and save the file in a spreadsheet program',
} as const;

/** @returns the column of a reference as `BC12`, from 0 */
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
