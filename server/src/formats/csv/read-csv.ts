import { optional } from '../../kernel/optional.ts';
import {
  type Columns,
  type ColumnValue,
  createColumns,
  defineInputFormat,
  encoding,
  fieldTooLarge,
  headerRowOption,
  LIMITS,
  makePlain,
  openTable,
  parseText,
  ReadingNotes,
  type RowProblem,
  readAfterPeek,
  type SourceRow,
  type TextStream,
} from '../input/input.ts';
import {
  type CsvOptions,
  DELIMITERS,
  findDialect,
  readSeparatorLine,
  SAMPLE_CHARACTERS,
} from './csv-dialect.ts';
import { type CsvRow, splitCsv } from './split-csv.ts';

export type { CsvOptions } from './csv-dialect.ts';

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
  description: 'default: detected; "" if quotes have no special meaning',
});

export const csv = defineInputFormat({
  type: 'csv',
  label: 'CSV',
  description:
    'a row is a line; the header names the columns; with headerRow 0 they are Column 1, Column 2, …',
  options: { delimiter, quote, encoding, headerRow: headerRowOption },
  mapping: 'needed',
  endings: ['csv'],
  isTable: true,
  open: ({ decode, notes }, options) => readCsv(decode(options.encoding), notes, options),
});

export const tsv = defineInputFormat({
  type: 'tsv',
  label: 'TSV',
  description: 'a row is a line; the header names the columns, which are separated by tabs',
  options: { quote, encoding, headerRow: headerRowOption },
  mapping: 'needed',
  endings: ['tsv'],
  isTable: true,
  open: ({ decode, notes }, options) =>
    readCsv(decode(options.encoding), notes, { ...options, delimiter: '\t' }),
});

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
    // The line that names the delimiter counts as line 1.
    const splitter = splitCsv(dialect, named === undefined ? 1 : 2);
    const name = (rows: readonly CsvRow[]) => {
      const columns = new Map(table.names.map((column, index) => [column, index]));
      return rows.map((row) => new NamedRow(row, columns));
    };
    try {
      for await (const rows of parseText(skipText(whole, named?.length ?? 0), splitter))
        yield name(table.take(rows.filter(isFilled)));
    } catch (error) {
      // If a source breaks off early, a preview still shows the rows before the break.
      yield name(table.end());
      throw error;
    }
    yield name(table.end());
  });
}

/** Reads a table and renames its columns. Only the new names are noted. */
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

/**
 * Makes the object of a row's values only on demand: with a hundred values, it takes longer than all other work on the
 * row.
 */
class NamedRow implements SourceRow {
  readonly number: number;
  readonly table: NonNullable<SourceRow['table']>;
  readonly problems: readonly RowProblem[] | undefined;
  #values: Columns<ColumnValue> | undefined;

  constructor({ number, cells, problem }: CsvRow, columns: ReadonlyMap<string, number>) {
    this.number = number;
    this.table = { columns, cells };
    const rowProblem = problem === undefined ? findProblem(cells, columns.size) : quoteProblem(problem);
    this.problems = rowProblem && [rowProblem];
  }

  get values(): Columns<ColumnValue> {
    if (this.#values !== undefined) return this.#values;
    const values = createColumns<ColumnValue>();
    const { columns, cells } = this.table;
    for (const [name, index] of columns) if (index < cells.length) values[name] = cells[index] as string;
    this.#values = values;
    return values;
  }

  get source(): Columns<ColumnValue> {
    return this.values;
  }
}

const quoteProblem = (message: string): RowProblem => ({ code: 'quote', message });

/** Accepts additional empty cells, because many exports write delimiters at the end of a line. */
function findProblem(cells: readonly string[], columns: number): RowProblem | undefined {
  if (cells.some((cell) => cell.length > LIMITS.fieldCharacters))
    return { code: 'too_large', message: fieldTooLarge('a value').message };
  const used = cells.findLastIndex((cell) => cell !== '') + 1;
  if (cells.length >= columns && used <= columns) return undefined;
  const count = cells.length < columns ? cells.length : used;
  return { code: 'field_count', message: `${count} values for ${columns} columns` };
}
