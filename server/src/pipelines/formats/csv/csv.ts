import type { ParseStepResult } from 'papaparse';
import Papa from 'papaparse';
import { Type } from 'typebox';
import { parseText, readAfterPeek, type TextStream } from '../chunks.ts';
import { encoding } from '../decode.ts';
import {
  type ColumnValue,
  createColumns,
  defineFormat,
  FormatProblem,
  fieldTooLarge,
  findHeader,
  HEAD_ROWS,
  headerRow,
  LIMITS,
  nameByPlace,
  type ReadingNotes,
  type RowProblem,
  readHeader,
  rowTooLarge,
  type SourceRow,
  tooManyColumns,
} from '../format.ts';

const DELIMITERS = [',', ';', '\t', '|'] as const;

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

export const tsv = defineFormat({
  type: 'tsv',
  label: 'TSV',
  description: 'a row is a line; columns by the header, separated by tabs',
  options: { quote, encoding, headerRow },
  mapping: 'needed',
  endings: ['tsv'],
  isTable: true,
  open: ({ decode, notes }, options) =>
    readCsv(decode(options.encoding), notes, { ...options, delimiter: '\t' }),
});

export interface CsvOptions {
  readonly delimiter?: string | undefined;
  readonly quote?: string | undefined;
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

/** How much of a file its delimiter is guessed from. */
const SAMPLE_CHARACTERS = 64 * 1024;
/** A quote of another kind than " is believed only when it is seen around values again and again. */
const QUOTES_TO_BELIEVE = 4;

/** Finds out how a file is written from its beginning, as far as the owner has not said so. */
function findDialect(sample: string, options: CsvOptions): Dialect {
  const newline = sample.includes('\n') || !sample.includes('\r') ? '\n' : '\r';
  const delimiter = options.delimiter ?? guessDelimiter(sample, newline);
  const quote = options.quote ?? guessQuote(sample, delimiter);
  if (delimiter !== quote) return { newline, delimiter, quote };
  throw new FormatProblem('refused', `The delimiter and the quote cannot both be ${quote}`);
}

/** The delimiter that splits the first lines most evenly; of those that do so equally well, the one that splits more. */
function guessDelimiter(sample: string, newline: '\n' | '\r'): string {
  const { meta } = Papa.parse(sample, {
    newline,
    preview: 1,
    delimitersToGuess: [...DELIMITERS],
    skipEmptyLines: true,
  });
  return meta.delimiter;
}

function guessQuote(sample: string, delimiter: string): string {
  if (sample.includes('"')) return '"';
  const cells = sample.split(/[\r\n]/).flatMap((line) => line.split(delimiter));
  const quoted = cells.filter((cell) => cell.length > 1 && cell.startsWith("'") && cell.endsWith("'"));
  return quoted.length >= QUOTES_TO_BELIEVE ? "'" : '"';
}

/** Excel's own way to name the delimiter, a first line as `sep=;`. */
const SEPARATOR_LINE = /^sep=(.)\r?\n/i;

/** @returns the delimiter named, and how many characters name it */
function readSeparatorLine(sample: string): { delimiter: string; length: number } | undefined {
  const named = SEPARATOR_LINE.exec(sample);
  return named?.[1] === undefined ? undefined : { delimiter: named[1], length: named[0].length };
}

interface Dialect {
  readonly delimiter: string;
  /** '' where the file knows no quotes. */
  readonly quote: string;
  readonly newline: '\n' | '\r';
}

interface CsvRow {
  /** Where the row begins. */
  readonly line: number;
  readonly fields: readonly string[];
  /** Why the fields cannot be believed. */
  readonly problem?: string;
}

/**
 * A quote that is not closed swallows what follows, up to the end of the file; then reading goes on behind the line that
 * it stands in. What is read twice so may be as much as the file, and this much more.
 */
const READ_TWICE_CHARACTERS = 32 * 1024 * 1024;

/**
 * Splits a text that comes in chunks into rows. The parser works on whole texts, so each chunk is read together with the
 * unfinished row before it; a row that stays unfinished is parsed again only when it has doubled.
 */
export class CsvSplitter {
  readonly #dialect: Dialect;
  #text = '';
  #worthReadingFrom = 0;
  #line: number;
  #readCharacters = 0;
  #readTwiceCharacters = 0;
  /** Within a line that is given up and whose end has not come. */
  #isSkipping = false;

  constructor(dialect: Dialect, firstLine = 1) {
    this.#dialect = dialect;
    this.#line = firstLine;
  }

  /** @throws FormatProblem too_large */
  push(chunk: string): CsvRow[] {
    this.#text += this.#isSkipping ? this.#skipLine(chunk) : chunk;
    this.#readCharacters += chunk.length;
    if (this.#text.length < this.#worthReadingFrom) return [];
    const rows = this.#readAll(false);
    this.#worthReadingFrom = Math.min(this.#text.length * 2, LIMITS.rowCharacters + 1);
    return rows;
  }

  end(): CsvRow[] {
    return this.#readAll(true);
  }

  /** @returns what stands behind the line that is skipped */
  #skipLine(chunk: string): string {
    const end = chunk.indexOf(this.#dialect.newline);
    if (end === -1) return '';
    this.#isSkipping = false;
    this.#line += 1;
    return chunk.slice(end + 1);
  }

  #readAll(isLast: boolean): CsvRow[] {
    const rows: CsvRow[] = [];
    let hasMore = true;
    while (hasMore && this.#text !== '') {
      const pass = new Pass(this.#text, this.#dialect, isLast);
      const outcome = pass.read(this.#line);
      for (const row of outcome.rows) rows.push(row);
      this.#text = this.#text.slice(outcome.consumed);
      this.#line = outcome.line;
      this.#isSkipping = outcome.isCut;
      this.#readTwiceCharacters += outcome.readTwice;
      hasMore = outcome.readTwice > 0;
      this.#checkEffort();
    }
    if (this.#text.length > LIMITS.rowCharacters) throw rowTooLarge('The row', this.#line);
    return rows;
  }

  #checkEffort(): void {
    if (this.#readTwiceCharacters <= this.#readCharacters + READ_TWICE_CHARACTERS) return;
    const message =
      'too many quotes are opened and not closed. If the file has quotes that mean nothing, set "quote" to ""';
    throw new FormatProblem('damaged', message, { line: this.#line });
  }
}

/** One pass of the parser over text that begins with a row. */
class Pass {
  readonly #text: string;
  readonly #dialect: Dialect;
  readonly #isLast: boolean;
  /** The parser drops a byte order mark, as stands between files that were put together, and does not count it. */
  readonly #dropped: number;
  readonly #rows: CsvRow[] = [];
  #consumed = 0;
  #line = 1;
  #readTwice = 0;
  #isCut = false;

  constructor(text: string, dialect: Dialect, isLast: boolean) {
    this.#text = text;
    this.#dialect = dialect;
    this.#isLast = isLast;
    this.#dropped = text.startsWith('\uFEFF') ? 1 : 0;
  }

  read(firstLine: number) {
    this.#line = firstLine;
    const { delimiter, newline, quote } = this.#dialect;
    Papa.parse<string[]>(this.#text, {
      delimiter,
      newline,
      ...(quote === '' ? { fastMode: true } : { quoteChar: quote }),
      step: (result, parser) => {
        if (!this.#hasToStop()) this.#take(result);
        if (this.#hasToStop()) parser.abort();
      },
    });
    return {
      rows: this.#rows,
      consumed: this.#consumed,
      /** Line behind what was consumed. */
      line: this.#line,
      /** Above 0 when reading has to go on behind a row with a quote that is not closed. */
      readTwice: this.#readTwice,
      /** What was consumed ends within a line that is given up. */
      isCut: this.#isCut,
    };
  }

  #hasToStop(): boolean {
    return this.#readTwice > 0 || this.#isCut;
  }

  #take({ data, errors, meta: { cursor } }: ParseStepResult<string[]>): void {
    const start = this.#consumed;
    const end = cursor + this.#dropped;
    if (end === start || cursor === 0) return;
    const open = errors.find(({ code }) => code === 'MissingQuotes');
    const isEnded = this.#text.endsWith(this.#dialect.newline, end) && open === undefined;
    const isHopeless = open !== undefined && cursor - (open.index ?? 0) > LIMITS.fieldCharacters;
    if (!isEnded && !this.#isLast && !isHopeless) return;
    if (errors.length > 0) this.#giveUpLine(end, open !== undefined);
    else this.#finishRow(end, dropReturn(data, this.#text.slice(start, end), this.#dialect.quote));
  }

  #finishRow(end: number, fields: readonly string[], problem?: string): void {
    this.#rows.push(
      problem === undefined ? { line: this.#line, fields } : { line: this.#line, fields, problem },
    );
    this.#line += this.#countLines(this.#consumed, end);
    this.#consumed = end;
  }

  /** Only the line with the broken quote is given up: the rows behind it are most likely sound. */
  #giveUpLine(end: number, isOpen: boolean): void {
    const lineEnd = this.#text.indexOf(this.#dialect.newline, this.#consumed);
    this.#isCut = lineEnd === -1 && !this.#isLast;
    const next = lineEnd === -1 || lineEnd >= end ? end : lineEnd + 1;
    const { quote } = this.#dialect;
    const problem =
      isOpen || next < end
        ? `a quote (${quote}) is opened and not closed`
        : `a quote (${quote}) stands within a quoted value; it has to be written twice`;
    this.#finishRow(next, [], problem);
    this.#readTwice = end - next;
  }

  #countLines(start: number, end: number): number {
    let count = 0;
    let at = this.#text.indexOf(this.#dialect.newline, start);
    while (at !== -1 && at < end) {
      count += 1;
      at = this.#text.indexOf(this.#dialect.newline, at + 1);
    }
    return count;
  }
}

/** Lines may end in \r\n: the \r belongs to the line's end, unless it is the last character of a quoted value. */
function dropReturn(fields: string[], row: string, quote: string): string[] {
  const last = fields.at(-1);
  if (last === undefined || !last.endsWith('\r')) return fields;
  const lineEnd = row.endsWith('\n') ? '\r\n' : '\r';
  const quoted = `${quote}${last.replaceAll(quote, quote + quote)}${quote}`;
  if (!row.endsWith(lineEnd) || (quote !== '' && row.endsWith(quoted + lineEnd))) return fields;
  fields[fields.length - 1] = last.slice(0, -1);
  return fields;
}
