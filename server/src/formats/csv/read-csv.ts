import Papa from 'papaparse';
import { optional } from '../../kernel/optional.ts';
import {
  type ChunkParser,
  type Columns,
  type ColumnValue,
  createColumns,
  defineInputFormat,
  encoding,
  FormatProblem,
  fieldTooLarge,
  headerRowOption,
  LIMITS,
  makePlain,
  openTable,
  parseText,
  ReadingNotes,
  type RowProblem,
  readAfterPeek,
  rowTooLarge,
  type SourceRow,
  type TextStream,
} from '../input/input.ts';

const DELIMITERS = [',', ';', '\t', '|'] as const;

export const delimiter = optional.text({
  minLength: 1,
  maxLength: 1,
  pattern: '^[^\\r\\n"\\u0000\\uFEFF]$',
  'x-label': 'Delimiter',
  description: `default: detected among ${DELIMITERS.map((sign) => JSON.stringify(sign)).join(', ')}`,
  examples: DELIMITERS,
});

export const quote = optional.choice(['"', "'", ''], {
  'x-label': 'Quotes',
  description: 'default: detected; "" where quotes mean nothing',
});

export const csv = defineInputFormat({
  type: 'csv',
  label: 'CSV',
  description: 'a row is a line; columns by the header, or Column 1, … with headerRow 0',
  options: { delimiter, quote, encoding, headerRow: headerRowOption },
  mapping: 'needed',
  endings: ['csv'],
  isTable: true,
  open: ({ decode, notes }, options) => readCsv(decode(options.encoding), notes, options),
});

export const tsv = defineInputFormat({
  type: 'tsv',
  label: 'TSV',
  description: 'a row is a line; columns by the header, separated by tabs',
  options: { quote, encoding, headerRow: headerRowOption },
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
  return readAfterPeek(text, SAMPLE_CHARACTERS, async function* (head, whole) {
    const named = readSeparatorLine(head);
    const dialect = findDialect(head.slice(named?.length), { ...options, ...named });
    notes.found.delimiter = dialect.delimiter;
    if (dialect.quote !== '"') notes.found.quote = dialect.quote;
    const { headerRow } = options;
    const table = openTable<CsvRow>(notes, {
      headerRow,
      textsOf: ({ cells }) => cells,
      maxColumns: LIMITS.columns,
    });
    // The line that names the delimiter counts as a line.
    const splitter = splitCsv(dialect, named === undefined ? 1 : 2);
    const name = (rows: readonly CsvRow[]) => {
      const columns = new Map(table.names.map((column, place) => [column, place]));
      return rows.map((row) => new NamedRow(row, columns));
    };
    try {
      for await (const rows of parseText(skipText(whole, named?.length ?? 0), splitter))
        yield name(table.take(rows.filter(isFilled)));
    } catch (error) {
      // If a source breaks off early, a preview shows what came before.
      yield name(table.end());
      throw error;
    }
    yield name(table.end());
  });
}

/** Reads a table whose columns are renamed; only the new names are noted. */
export async function* readRenamed(
  text: TextStream,
  notes: ReadingNotes,
  { rename, ...options }: CsvOptions & { rename(rows: readonly SourceRow[]): SourceRow[] },
): AsyncGenerator<SourceRow[]> {
  const own = new ReadingNotes();
  for await (const rows of readCsv(text, own, options)) {
    Object.assign(notes.found, own.found);
    yield rename(rows.map(makePlain));
  }
}

export const textOf = ({ values }: SourceRow, name: string): string => String(values[name] ?? '');

export const splitList = (text: string, separator: string | RegExp = ','): string[] =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');

async function* skipText(text: TextStream, characters: number): AsyncGenerator<string> {
  let toSkip = characters;
  for await (const chunk of text) {
    if (toSkip < chunk.length) yield chunk.slice(toSkip);
    toSkip = Math.max(0, toSkip - chunk.length);
  }
}

const isFilled = ({ cells, problem }: CsvRow): boolean =>
  problem !== undefined || cells.some((cell) => cell !== '' && (cells.length > 1 || cell.trim() !== ''));

/** An object of a hundred values takes longer to make than all else that a row needs. */
class NamedRow implements SourceRow {
  readonly number: number;
  readonly table: NonNullable<SourceRow['table']>;
  readonly problems: readonly RowProblem[] | undefined;
  #values: Columns<ColumnValue> | undefined;

  constructor({ number, cells, problem }: CsvRow, columns: ReadonlyMap<string, number>) {
    this.number = number;
    this.table = { columns, cells };
    const found = problem === undefined ? findProblem(cells, columns.size) : quoteProblem(problem);
    this.problems = found && [found];
  }

  get values(): Columns<ColumnValue> {
    if (this.#values !== undefined) return this.#values;
    const values = createColumns<ColumnValue>();
    const { columns, cells } = this.table;
    for (const [name, place] of columns) if (place < cells.length) values[name] = cells[place] as string;
    this.#values = values;
    return values;
  }

  get source(): Columns<ColumnValue> {
    return this.values;
  }
}

const quoteProblem = (message: string): RowProblem => ({ code: 'quote', message });

/** Additional empty cells come from delimiters at the end of a line, which many exports write. */
function findProblem(cells: readonly string[], columns: number): RowProblem | undefined {
  if (cells.some((cell) => cell.length > LIMITS.fieldCharacters))
    return { code: 'too_large', message: fieldTooLarge('a value').message };
  const used = cells.findLastIndex((cell) => cell !== '') + 1;
  if (cells.length >= columns && used <= columns) return undefined;
  const count = cells.length < columns ? cells.length : used;
  return { code: 'field_count', message: `${count} values for ${columns} columns` };
}

/** How much of a file is used to guess its delimiter. */
const SAMPLE_CHARACTERS = 64 * 1024;
/** A quote other than " is only believed if it surrounds values repeatedly. */
const QUOTES_TO_BELIEVE = 4;

/** Detects from its beginning how a file is written, as far as the owner has not specified it. */
function findDialect(sample: string, options: CsvOptions): Dialect {
  const newline = sample.includes('\n') || !sample.includes('\r') ? '\n' : '\r';
  const delimiter = options.delimiter ?? guessDelimiter(sample, newline);
  const quote = options.quote ?? guessQuote(sample, delimiter);
  if (delimiter !== quote) return { newline, delimiter, quote };
  throw new FormatProblem('refused', `The delimiter and the quote cannot both be ${quote}`);
}

/** The delimiter that splits the first lines most evenly; among equals, the one that splits more. */
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

/** Excel's own way to name the delimiter: a first line such as `sep=;`. */
const SEPARATOR_LINE = /^sep=(.)\r?\n/i;

/** @returns the named delimiter, and how many characters name it */
function readSeparatorLine(sample: string): { delimiter: string; length: number } | undefined {
  const named = SEPARATOR_LINE.exec(sample);
  return named?.[1] === undefined ? undefined : { delimiter: named[1], length: named[0].length };
}

interface Dialect {
  readonly delimiter: string;
  /** '' if the file uses no quotes. */
  readonly quote: string;
  readonly newline: '\n' | '\r';
}

interface CsvRow {
  /** The line where the row begins. */
  readonly number: number;
  readonly cells: readonly string[];
  /** Why the cells are unreliable. */
  readonly problem?: string | undefined;
}

/**
 * An unclosed quote swallows everything up to the end of the file; reading then continues after the line that
 * contains it. What is read twice in this way may be as much as the file, plus this much.
 */
const READ_TWICE_CHARACTERS = 32 * 1024 * 1024;
const TOO_MANY_QUOTES =
  'too many quotes are opened and not closed. If the file has quotes that mean nothing, set "quote" to ""';

/** Splits text that comes in chunks into rows; an unfinished row is only read again when it has doubled. */
export function splitCsv(dialect: Dialect, firstLine = 1): ChunkParser<CsvRow> {
  const { newline } = dialect;
  const readRow = createRowReader(dialect);
  let text = '';
  let worthReadingFrom = 0;
  let line = firstLine;
  let readTwiceRoom = READ_TWICE_CHARACTERS;
  /** Whether reading is within an abandoned line whose end has not come. */
  let isSkipping = false;

  /** @returns what follows the skipped line */
  function skipLine(chunk: string): string {
    const end = chunk.indexOf(newline);
    if (end === -1) return '';
    isSkipping = false;
    line += 1;
    return chunk.slice(end + 1);
  }

  function countLines(start: number, end: number): number {
    let count = 0;
    for (let at = text.indexOf(newline, start); at !== -1 && at < end; at = text.indexOf(newline, at + 1))
      count += 1;
    return count;
  }

  function readAll(isLast: boolean): CsvRow[] {
    const rows: CsvRow[] = [];
    let start = 0;
    for (let row = readRow(text, 0, isLast); row !== undefined; row = readRow(text, start, isLast)) {
      const { cells, end, problem, readTwice = 0 } = row;
      rows.push({ number: line, cells, problem });
      line += countLines(start, end);
      readTwiceRoom -= readTwice;
      if (readTwiceRoom < 0) throw new FormatProblem('damaged', TOO_MANY_QUOTES, { line });
      isSkipping = problem !== undefined && !isLast && !text.endsWith(newline, end);
      start = end;
    }
    text = text.slice(start);
    if (text.length > LIMITS.rowCharacters) throw rowTooLarge('The row', line);
    return rows;
  }

  return {
    /** @throws FormatProblem damaged, too_large */
    push(chunk) {
      text += isSkipping ? skipLine(chunk) : chunk;
      readTwiceRoom += chunk.length;
      if (text.length < worthReadingFrom) return [];
      const rows = readAll(false);
      worthReadingFrom = Math.min(text.length * 2, LIMITS.rowCharacters + 1);
      return rows;
    },
    end: () => readAll(true),
  };
}

interface ReadRow extends Omit<CsvRow, 'number'> {
  /** Where the next row begins. */
  readonly end: number;
  /** Characters of the next rows that were taken for a part of this one. */
  readonly readTwice?: number;
}

interface ReadCell {
  readonly value: string;
  /** After the delimiter or the end of the line. */
  readonly end: number;
  /** The character that ends the cell; undefined at the end of the text. */
  readonly sign: string | undefined;
  /** A quote is not closed, or is within a quoted value and not doubled. */
  readonly isBroken?: boolean;
  readonly isOpen?: boolean;
}

/** @returns a function that reads the row at a position of a text; undefined if it may be incomplete */
function createRowReader({ delimiter, newline, quote }: Dialect) {
  const sign = `${RegExp.escape(delimiter)}|${newline}`;
  const plainEnd = new RegExp(`(${sign})|$`, 'g');
  /** Some programs write spaces after a closing quote. */
  const quotedEnd = new RegExp(`(?:(?!${sign})\\s)*(${sign})|$`, 'y');
  /** Lines may end in \r\n. */
  const withoutReturn = (text: string) =>
    newline === '\n' && text.endsWith('\r') ? text.slice(0, -1) : text;

  function readPlain(text: string, start: number): ReadCell {
    plainEnd.lastIndex = start;
    const [, found] = plainEnd.exec(text) ?? [];
    const end = plainEnd.lastIndex;
    const value = text.slice(start, end - (found?.length ?? 0));
    return { value: found === delimiter ? value : withoutReturn(value), end, sign: found };
  }

  function readQuoted(text: string, start: number): ReadCell {
    let isBroken = false;
    for (let close = text.indexOf(quote, start); close !== -1; close = text.indexOf(quote, close + 1)) {
      if (text[close + 1] === quote) {
        close += 1;
        continue;
      }
      quotedEnd.lastIndex = close + 1;
      const found = quotedEnd.exec(text);
      if (found !== null) {
        const value = text.slice(start, close).replaceAll(quote + quote, quote);
        return { value, end: quotedEnd.lastIndex, sign: found[1], isBroken };
      }
      isBroken = true;
    }
    // A value that is too long is abandoned before its end.
    const sign = text.length - start > LIMITS.fieldCharacters ? newline : undefined;
    return { value: '', end: text.length, sign, isBroken: true, isOpen: true };
  }

  /** @returns the position of the end of the line, or of the text */
  function findLineEnd(text: string, start: number): number {
    const at = text.indexOf(newline, start);
    return at === -1 ? text.length : at;
  }

  /** Only the line with the broken quote is abandoned: the rows after it are most likely sound. */
  function giveUpLine(text: string, start: number, { end, isOpen }: ReadCell): ReadRow {
    const next = Math.min(findLineEnd(text, start) + 1, end);
    const problem =
      isOpen || next < end
        ? `a quote (${quote}) is opened and not closed`
        : `a quote (${quote}) stands within a quoted value; it has to be written twice`;
    return { cells: [], end: next, problem, readTwice: end - next };
  }

  function readQuotedRow(text: string, start: number, isLast: boolean): ReadRow | undefined {
    const cells: string[] = [];
    let isBroken = false;
    let at = start;
    let cell: ReadCell;
    do {
      cell = text.startsWith(quote, at) ? readQuoted(text, at + 1) : readPlain(text, at);
      cells.push(cell.value);
      isBroken ||= cell.isBroken === true;
      at = cell.end;
    } while (cell.sign === delimiter);
    if (cell.sign === undefined && !isLast) return undefined;
    return isBroken ? giveUpLine(text, start, cell) : { cells, end: at };
  }

  return (text: string, at: number, isLast: boolean): ReadRow | undefined => {
    if (at === text.length) return undefined;
    // A byte order mark may occur between files that were concatenated.
    const start = text[at] === '\uFEFF' ? at + 1 : at;
    const lineEnd = findLineEnd(text, start);
    const line = text.slice(start, lineEnd);
    if (quote !== '' && line.includes(quote)) return readQuotedRow(text, start, isLast);
    if (lineEnd === text.length && !isLast) return undefined;
    return { cells: withoutReturn(line).split(delimiter), end: Math.min(lineEnd + 1, text.length) };
  };
}
