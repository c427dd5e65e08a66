import { Type } from 'typebox';
import { parseText, readAfterPeek, type TextStream } from '../chunks.ts';
import { defineFormat, encoding, headerRow } from '../format.ts';
import { FormatProblem, fieldTooLarge, LIMITS, tooManyColumns } from '../format-problem.ts';
import {
  type ColumnValue,
  createColumns,
  findHeader,
  HEAD_ROWS,
  nameByPlace,
  type ReadingNotes,
  type RowProblem,
  readHeader,
  type SourceRow,
} from '../source-row.ts';
import {
  DELIMITERS,
  type DialectOptions,
  findDialect,
  readSeparatorLine,
  SAMPLE_CHARACTERS,
} from './csv-dialect.ts';
import { type CsvRow, CsvSplitter, type Dialect } from './csv-rows.ts';

export const delimiter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 1,
    pattern: '^[^\\r\\n"\\u0000\\uFEFF]$',
    'x-label': 'Delimiter',
    description: `default: detected among ${DELIMITERS.map((sign) => JSON.stringify(sign)).join(', ')}`,
    examples: DELIMITERS,
  }),
);

export const quote = Type.Optional(
  Type.Enum(['"', "'", ''], {
    'x-label': 'Quotes',
    description: 'default: detected; "" where quotes mean nothing',
  }),
);

export const csv = defineFormat({
  type: 'csv',
  label: 'CSV',
  description: 'a row is a line; columns by the header, or Column 1, … with headerRow 0',
  options: { delimiter, quote, encoding, headerRow },
  mapping: 'needed',
  endings: ['csv'],
  isTable: true,
  open: ({ decode, notes }, options) => readCsv(decode(options.encoding), notes, options),
});

export interface CsvOptions extends DialectOptions {
  /** The first line that may hold the names, default the first one that is no title; 0: there are none, and columns are called Column 1, … */
  readonly headerRow?: number | undefined;
}

/** @returns a batch of rows for each chunk of text */
export function readCsv(
  text: TextStream,
  notes: ReadingNotes,
  options: CsvOptions = {},
): AsyncGenerator<SourceRow[]> {
  return readAfterPeek(text, SAMPLE_CHARACTERS, (head, whole) => {
    const named = readSeparatorLine(head);
    const dialect = findDialect(head.slice(named?.length), { ...options, ...named });
    notes.found.delimiter = dialect.delimiter;
    if (dialect.quote !== '"') notes.found.quote = dialect.quote;
    const skipped = named?.length ?? 0;
    const headerRow = options.headerRow ?? findHeaderRow(head.slice(skipped), dialect, skipped);
    if (options.headerRow === undefined && headerRow > 1) notes.found.headerRow = String(headerRow);
    return readRows(whole, { dialect, skipped, table: new CsvTable(notes, headerRow) });
  });
}

/** @returns the line behind the titles, where there are some; 1 otherwise */
function findHeaderRow(head: string, dialect: Dialect, skipped: number): number {
  const rows = new CsvSplitter(dialect, firstLine(skipped))
    .push(head)
    .filter(({ fields }) => !isBlank(fields));
  const place = findHeader(rows.slice(0, HEAD_ROWS).map(({ fields }) => fields));
  return place === 0 ? 1 : (rows[place]?.line ?? 1);
}

/** Excel's line that names the delimiter counts. */
const firstLine = (skipped: number): number => (skipped > 0 ? 2 : 1);

interface RowReading {
  readonly dialect: Dialect;
  /** Characters before the first row. */
  readonly skipped: number;
  readonly table: CsvTable;
}

async function* readRows(
  text: TextStream,
  { dialect, skipped, table }: RowReading,
): AsyncGenerator<SourceRow[]> {
  const splitter = new CsvSplitter(dialect, firstLine(skipped));
  for await (const rows of parseText(skipText(text, skipped), splitter)) {
    const named = table.take(rows);
    if (named.length > 0) yield named;
  }
}

async function* skipText(text: TextStream, characters: number): AsyncGenerator<string> {
  let toSkip = characters;
  for await (const chunk of text) {
    if (toSkip < chunk.length) yield chunk.slice(toSkip);
    toSkip = Math.max(0, toSkip - chunk.length);
  }
}

/** Gives the fields of each row their names. */
class CsvTable {
  readonly #notes: ReadingNotes;
  readonly #headerRow: number;
  #names: readonly string[] | undefined;

  constructor(notes: ReadingNotes, headerRow: number) {
    this.#notes = notes;
    this.#headerRow = headerRow;
  }

  take(rows: readonly CsvRow[]): SourceRow[] {
    const taken: SourceRow[] = [];
    for (const row of rows) {
      if (row.line < this.#headerRow || (row.problem === undefined && isBlank(row.fields))) continue;
      if (this.#names === undefined && this.#takeHeader(row)) continue;
      taken.push(this.#nameFields(row));
    }
    return taken;
  }

  /** @returns whether the row was the header */
  #takeHeader(row: CsvRow): boolean {
    if (row.problem !== undefined) throw new FormatProblem('damaged', row.problem, { line: row.line });
    if (row.fields.length > LIMITS.columns) throw tooManyColumns('The first row', row.line);
    const hasHeader = this.#headerRow > 0;
    this.#names = hasHeader ? readHeader(row.fields) : row.fields.map((_, index) => nameByPlace(index));
    for (const name of this.#names) this.#notes.noteColumn(name);
    return hasHeader;
  }

  #nameFields({ line, fields, problem }: CsvRow): SourceRow {
    const names = this.#names ?? [];
    const values = createColumns<ColumnValue>();
    const count = Math.min(names.length, fields.length);
    for (let index = 0; index < count; index += 1) values[names[index] as string] = fields[index] as string;
    const found = problem === undefined ? findProblem(fields, names.length) : quoteProblem(problem);
    const row = { number: line, values, source: values };
    return found === undefined ? row : { ...row, problems: [found] };
  }
}

const quoteProblem = (message: string): RowProblem => ({ code: 'quote', message });

/** Further fields that are empty come from delimiters at the end of a line, which many exports write. */
function findProblem(fields: readonly string[], columns: number): RowProblem | undefined {
  if (fields.some((field) => field.length > LIMITS.fieldCharacters))
    return { code: 'too_large', message: fieldTooLarge('a value').message };
  const used = fields.findLastIndex((field) => field !== '') + 1;
  if (fields.length >= columns && used <= columns) return undefined;
  const count = fields.length < columns ? fields.length : used;
  return { code: 'field_count', message: `${count} values for ${columns} columns` };
}

function isBlank(fields: readonly string[]): boolean {
  return fields.every((field) => field === '' || (fields.length === 1 && field.trim() === ''));
}
