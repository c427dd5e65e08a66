import { type Static, type TLiteral, type TObject, type TProperties, Type } from 'typebox';
import { optional } from '../../kernel/optional.ts';
import { type ByteStream, Peekable } from '../streams.ts';

/** A mapping that fits a format whatever the file contains. Its columns may be missing, in which case nothing is mapped. */
export interface DefaultMapping {
  readonly identifier: string;
  readonly groupIdentifier?: string;
  readonly name: string;
  readonly productUrl?: string;
  readonly images?: readonly string[];
  readonly categories?: DefaultPath | readonly DefaultPath[];
  /** `*` with `*`: all columns that are not used otherwise. */
  readonly attributes?: '*' | Readonly<Record<string, string>>;
}

export interface DefaultPath {
  readonly from: string;
  readonly separator?: string;
}

/** A file to be read. */
export interface FormatReading {
  /** The bytes, unpacked. */
  readonly bytes: ByteStream;
  readonly notes: ReadingNotes;
  /** A folder for files that are removed when reading ends. */
  readonly tempDir: string;
  /** @returns the bytes as text; refuses a web page. Call it once, and do not read `bytes` as well. */
  decode(encoding?: string, isMarkup?: boolean): TextStream;
}

/** A feed format: one record in the list of `formats.ts`. Each option has a default that is detected. */
interface FormatParts<Type extends string, Options extends TProperties> {
  readonly type: Type;
  readonly label: string;
  /** What becomes a row, and how columns are named. */
  readonly description: string;
  readonly options: Options;
  /** Whether a definition must have a mapping, must not, or may, as the format has a default one known to suggestions. */
  readonly mapping: 'needed' | 'none' | DefaultMapping;
  /** File name endings, without a dot; none if the ending is less specific than the format. */
  readonly endings: readonly string[];
  /** Whether the header names all columns, so that a mapping with another one is refused. */
  readonly isTable?: true;
  open(
    reading: FormatReading,
    options: { type: Type } & Static<TObject<Options>>,
  ): AsyncIterable<readonly SourceRow[]>;
}

/** A format of the list, for code that reads any; `Format` is how a definition describes it. */
export interface FeedFormat<Format>
  extends Pick<FormatParts<string, TProperties>, 'type' | 'mapping' | 'isTable'> {
  open(reading: FormatReading, options: Format): AsyncIterable<readonly SourceRow[]>;
}

/** Adds the schema of a definition's format. */
export function defineFormat<const Type extends string, Options extends TProperties>(
  format: FormatParts<Type, Options>,
) {
  const { type, label, description, options, mapping, endings } = format;
  const schema: TObject<{ type: TLiteral<Type> } & Options> = Type.Object(
    { type: Type.Literal(type), ...options },
    {
      additionalProperties: false,
      description,
      'x-label': label,
      'x-mapping': typeof mapping === 'string' ? mapping : 'own',
      'x-endings': endings,
    },
  );
  return { ...format, schema };
}

/** Which of several languages is read. */
export const languageOption = (description: string) =>
  optional.text({ minLength: 2, maxLength: 10, 'x-label': 'Language', description });

export const headerRowOption = optional.integer({
  minimum: 0,
  maximum: 1_048_576,
  'x-label': 'Header row',
  description:
    'first row that may hold the names of the columns; default: the first one that is no title; 0: none does, and they are Column 1, …',
});

type FormatReason =
  /** Not what the format says: invalid JSON, an unclosed tag, a zip that is none. */
  | 'damaged'
  | 'broken_off'
  | 'too_large'
  /** Valid, but with something that is never read: a DTD, an entity, encryption. */
  | 'refused'
  /** The list, sheet or column that the options name is missing. */
  | 'not_found';

/** Why a file cannot be read further, in words for the owner of the pipeline. */
export class FormatProblem extends Error {
  override readonly name = 'FormatProblem';
  readonly reason: FormatReason;
  /** The line where reading stopped, if the format has lines. */
  readonly line: number | undefined;

  constructor(
    reason: FormatReason,
    message: string,
    { line, cause }: { line?: number | undefined; cause?: unknown } = {},
  ) {
    super(line === undefined ? message : `Line ${line}: ${message}`, { cause });
    this.reason = reason;
    this.line = line;
  }
}

/**
 * How much one file may make the service hold at a time. An attribute value has at most 65,536 characters and a
 * product at most 2,000 of them (docs/interface §2.3); descriptions in HTML are longer before they are mapped.
 */
export const LIMITS = {
  fieldCharacters: 1024 * 1024,
  /** The text of a row with all its fields, and how much is held of a row that does not end. */
  rowCharacters: 8 * 1024 * 1024,
  /** Elements, attributes and values of a row, including empty ones: 150 bytes each, 40 MB in all. */
  rowParts: 250_000,
  /** As in docs/interface §8, plus the few levels around the list of products. */
  depth: 40,
  columns: 10_000,
} as const;

export const tooLarge = (message: string, line?: number) => new FormatProblem('too_large', message, { line });
const show = (limit: number) => limit.toLocaleString('en');

export const fieldTooLarge = (where: string, line?: number) =>
  tooLarge(`${where} is longer than ${show(LIMITS.fieldCharacters)} characters, the limit`, line);

export const rowTooLarge = (where: string, line?: number) =>
  tooLarge(`${where} is larger than ${show(LIMITS.rowCharacters)} characters, the limit`, line);

export const tooDeep = (where: string, line?: number) =>
  tooLarge(`${where} is nested deeper than ${LIMITS.depth} levels`, line);

const tooManyColumns = (where: string, line?: number) =>
  tooLarge(`${where} has more than ${show(LIMITS.columns)} columns`, line);

/** Measures one row while it is read: its text, and the parts that take memory without text. */
export class RowSize {
  readonly #what: string;
  #characters = 0;
  #parts = 0;

  constructor(what: string) {
    this.#what = what;
  }

  /** @throws FormatProblem too_large */
  add(characters: number, parts: number, line?: number): void {
    this.#characters += characters;
    this.#parts += parts;
    if (this.#characters > LIMITS.rowCharacters) throw rowTooLarge(this.#what, line);
    if (this.#parts <= LIMITS.rowParts) return;
    const most = `${show(LIMITS.rowParts)} elements, attributes and values, the limit`;
    throw tooLarge(`${this.#what} has more than ${most}`, line);
  }

  reset(): void {
    this.#characters = 0;
    this.#parts = 0;
  }
}

/** A value of a column: a list if an element or a key is repeated, or the source has a list. */
export type ColumnValue = string | string[];

interface TableCells {
  /** The places of columns by name. */
  readonly columns: ReadonlyMap<string, number>;
  /** Cells at the end may be missing. */
  readonly cells: readonly string[];
}

export interface SourceRow {
  /** For reports: the line of a csv or ndjson file, the row of a sheet, otherwise the number among all rows, from 1. */
  readonly number: number;
  /** Columns by name. Missing or null values of the source are absent; empty ones are ''. */
  readonly values: Columns<ColumnValue>;
  /** The same by place, for a table whose `values` are only made when they are asked for. */
  readonly table?: TableCells;
  /** For columns with values in lists of objects, the number of each value's object, from 1. */
  readonly rows?: Columns<(number | undefined)[]>;
  /** The row as in the source, for expressions. */
  readonly source: unknown;
  /** Absent if the row is sound. */
  readonly problems?: readonly RowProblem[];
}

/** What a mapping reads of a row. */
export type RowCells = Pick<SourceRow, 'values' | 'table' | 'rows'>;

/** @returns the names of a row's columns */
export const listColumns = (row: RowCells): Iterable<string> =>
  row.table?.columns.keys() ?? Object.keys(row.values);

/** @returns the value of a column, without making all others */
export function cellOf(row: RowCells, name: string): ColumnValue | undefined {
  if (row.table === undefined) return row.values[name];
  const place = row.table.columns.get(name);
  return place === undefined ? undefined : row.table.cells[place];
}

/** @returns the row with its values made, for those who change some of it */
export function makePlain({ number, values, rows, source, problems }: SourceRow): SourceRow {
  return { number, values, rows, source, problems };
}

/** A problem of one row. With a column only this column is unusable, without one the whole row. */
export interface RowProblem {
  readonly code:
    | 'field_count'
    | 'quote'
    | 'not_json'
    | 'no_object'
    | 'encoding'
    | 'too_large'
    | 'cell'
    | 'group';
  readonly message: string;
  readonly column?: string;
}

/** Values by a name that comes from a file. */
export type Columns<Value> = Record<string, Value>;

/**
 * A class without a prototype: `__proto__` and `constructor` are names like any other, and unlike
 * `Object.create(null)` its objects have shapes, which makes a row of ten columns four times as fast.
 */
class NoPrototype {}
Reflect.deleteProperty(NoPrototype.prototype, 'constructor');
Object.setPrototypeOf(NoPrototype.prototype, null);

export function createColumns<Value>(): Columns<Value> {
  return new NoPrototype() as Columns<Value>;
}

/** Whether a column repeats some values of another one: `model[@lang=de]`, `model[not(@lang)]`. Only a mapping that names it uses it. */
export const isSelector = (name: string): boolean =>
  name.endsWith(']') && /\[(?:@[^=\]]+=[^\]]*|not\(@[^)\]]+\))\]$/.test(name);

/** Collects the values of one row; a repeated name makes a list. */
export class RowValues {
  readonly values = createColumns<ColumnValue>();
  rows: Columns<(number | undefined)[]> | undefined;
  #count = 0;
  #rowCount = 0;

  /** @returns the number of an object in a list, whose values belong together */
  beginRow(): number {
    this.#rowCount += 1;
    return this.#rowCount;
  }

  add(name: string, value: string, isList = false): void {
    const present = this.values[name];
    this.#count += 1;
    if (this.#count > LIMITS.columns) throw tooManyColumns('A row');
    if (present === undefined) this.values[name] = isList ? [value] : value;
    else if (typeof present === 'string') this.values[name] = [present, value];
    else present.push(value);
  }

  /** @param row the number of the object that has the value */
  addInRow(name: string, value: string, row: number): void {
    this.add(name, value, true);
    this.rows ??= createColumns();
    this.rows[name] ??= [];
    this.rows[name][(this.values[name]?.length ?? 1) - 1] = row;
  }
}

/** Documents differ in a few dozen paths. */
const UNREAD_PATHS = 1_000;

/** What a reader finds out while reading. */
export class ReadingNotes {
  /** Detected options: `delimiter`, `encoding`, `path`, `record`, `sheet`, … */
  readonly found: Record<string, string> = {};
  /** Whether some bytes were invalid in the encoding and became U+FFFD. */
  isDamaged = false;
  readonly #columns = new Set<string>();
  /** Paths of elements that make no value, with counts; without those that the format ignores on purpose. */
  readonly unread = new Map<string, number>();
  readonly #onUnread: ((path: string) => void) | undefined;

  /** @param onUnread receives paths instead of counting them */
  constructor(onUnread?: (path: string) => void) {
    this.#onUnread = onUnread;
  }

  noteUnread(path: string): void {
    if (this.#onUnread !== undefined) this.#onUnread(path);
    else if (this.unread.has(path) || this.unread.size < UNREAD_PATHS)
      this.unread.set(path, (this.unread.get(path) ?? 0) + 1);
  }

  /** Names in order of first appearance so far; at most `LIMITS.columns`. */
  get columns(): readonly string[] {
    return [...this.#columns];
  }

  noteColumn(name: string): void {
    if (this.#columns.has(name) || this.#columns.size >= LIMITS.columns) return;
    this.#columns.add(copyText(name));
  }

  noteRows(rows: readonly SourceRow[]): void {
    // Those of a table were noted with its header.
    for (const row of rows) if (row.table === undefined) for (const name in row.values) this.noteColumn(name);
  }
}

/** Reports the rows with damage; in a sound source U+FFFD can be a regular character. */
export function reportDamage(row: SourceRow): SourceRow {
  const isDamaged = (value: ColumnValue) => [value].flat().some((text) => text.includes('\uFFFD'));
  const damaged = Object.entries(row.values).filter(([, value]) => isDamaged(value));
  if (damaged.length === 0) return row;
  const problems = damaged.map(
    ([column]): RowProblem => ({
      code: 'encoding',
      column,
      message: 'bytes that are no text in the encoding of the file',
    }),
  );
  return { ...makePlain(row), problems: [...(row.problems ?? []), ...problems] };
}

/** A substring retains the whole text, so what outlives its chunk has to be a copy. */
export function copyText(text: string): string {
  // Through UTF-8 plain text takes one byte a character; only a lone surrogate would not survive.
  const encoding = text.isWellFormed() ? 'utf8' : 'utf16le';
  return Buffer.from(text, encoding).toString(encoding);
}

interface TableOptions<Row> {
  /** As the owner chose; undefined: the first row that is not a title. */
  readonly headerRow: number | undefined;
  readonly maxColumns?: number;
  /** By position; a row may lack some cells. */
  textsOf(row: Row): readonly string[];
}

/** Finds the row that names the columns, and passes on the rows after it. */
export function openTable<Row extends { readonly number: number; readonly problem?: string | undefined }>(
  notes: ReadingNotes,
  { headerRow, maxColumns = Number.POSITIVE_INFINITY, textsOf }: TableOptions<Row>,
) {
  let first = headerRow ?? 1;
  /** The first rows, until the header is found among them. */
  let head: Row[] | undefined = headerRow === undefined ? [] : undefined;
  let names: readonly string[] | undefined;

  function isBehindHeader(row: Row): boolean {
    if (row.number < first) return false;
    if (names !== undefined) return true;
    if (row.problem !== undefined) throw new FormatProblem('damaged', row.problem, { line: row.number });
    const texts = textsOf(row);
    if (texts.length > maxColumns) throw tooManyColumns('The first row', row.number);
    names = first > 0 ? readHeader(texts) : texts.map((_, index) => nameByPlace(index));
    // The list has holes where the row has no cell.
    names.forEach((name) => {
      notes.noteColumn(name);
    });
    return first === 0;
  }

  function end(): Row[] {
    const rows = head ?? [];
    head = undefined;
    const sound = rows.filter(({ problem }) => problem === undefined).slice(0, HEAD_ROWS);
    const place = findHeader(sound.map(textsOf));
    if (place > 0) {
      first = sound[place]?.number ?? 1;
      notes.found.headerRow = String(first);
    }
    return rows.filter(isBehindHeader);
  }

  return {
    take(rows: readonly Row[]): Row[] {
      if (head === undefined) return rows.filter(isBehindHeader);
      for (const row of rows) head.push(row);
      return head.length < HEAD_ROWS ? [] : end();
    },
    /** Call it after the last row. @returns the rows whose header was not known yet */
    end,
    /** The names of the columns, by position. */
    get names(): readonly string[] {
      return names ?? [];
    },
  };
}

/**
 * @returns the names in a header: trimmed, nameless ones by position, repeated ones numbered, as Name, Name
 * 2, and without those after the last name
 */
function readHeader(cells: readonly string[]): string[] {
  const given = Array.from(cells, (cell = '', index) => cell.trim() || nameByPlace(index));
  const names = given.slice(0, cells.findLastIndex((cell = '') => cell.trim() !== '') + 1);
  const taken = new Set(names);
  const numbers = new Map<string, number>();
  return names.map((name) => {
    let number = numbers.get(name) ?? 1;
    while (number > 1 && taken.has(`${name} ${number}`)) number += 1;
    numbers.set(name, number + 1);
    return number === 1 ? name : `${name} ${number}`;
  });
}

export const nameByPlace = (index: number): string => `Column ${index + 1}`;

/** How many rows are searched for the column names. */
const HEAD_ROWS = 10;

/** @returns the index of the row that may hold names: a title above them fills only one or two of many cells */
function findHeader(rows: readonly (readonly string[])[]): number {
  const filled = rows.map((cells) => cells.filter((cell) => cell.trim() !== '').length);
  const usual = filled.toSorted((a, b) => a - b)[Math.floor(filled.length / 2)] ?? 0;
  const place = filled.findIndex((count) => count > 2 || count * 2 > usual);
  return Math.max(0, place);
}

/** The largest exponent that is written out: no price or measure has more digits. */
const LARGEST_EXPONENT = 400;
const WITH_EXPONENT = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d{1,9})$/;

/** @returns a number as a plain decimal: `1.5e-7` becomes `0.00000015`; text without an exponent is unchanged */
export function writePlainNumber(text: string): string {
  const match = WITH_EXPONENT.exec(text);
  if (match === null) return text;
  const [, sign = '', whole = '', fraction = '', exponent = ''] = match;
  const shift = Number(exponent);
  if (Math.abs(shift) > LARGEST_EXPONENT) return text;
  const digits = whole + fraction;
  const point = whole.length + shift;
  const integer = point > 0 ? digits.padEnd(point, '0').slice(0, point) : '0';
  const decimals = point < 0 ? '0'.repeat(-point) + digits : digits.slice(Math.max(0, point));
  // Not a pattern: matching trailing zeros would take time quadratic in their number.
  const trimmed = decimals.slice(0, [...decimals].findLastIndex((digit) => digit !== '0') + 1);
  return `${sign}${integer.replace(/^0+(?=\d)/, '')}${trimmed === '' ? '' : `.${trimmed}`}`;
}

export type TextStream = AsyncIterable<string>;

/** How much is parsed at once, which determines how much a reader holds and how long it occupies its thread. */
const CHUNK_BYTES = 64 * 1024;

/** Cuts large chunks, so that a source that returns a whole file is read like any other. */
export async function* cutChunks(bytes: ByteStream): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    for (let start = 0; start < chunk.length; start += CHUNK_BYTES)
      yield chunk.subarray(start, start + CHUNK_BYTES);
  }
}

/** A parser that is fed piece by piece. */
export interface ChunkParser<Part> {
  /** @returns what the chunk completes */
  push(chunk: string): readonly Part[];
  end(): readonly Part[];
}

/** @returns what each chunk of a text completes */
export async function* parseText<Part>(text: TextStream, parser: ChunkParser<Part>) {
  for await (const chunk of text) yield parser.push(chunk);
  yield parser.end();
}

/** Reads the beginning of a text and passes all of it to the reader chosen by it; closes the text if there is none. */
export async function* readAfterPeek<Row>(
  text: TextStream,
  length: number,
  read: (head: string, text: TextStream) => AsyncIterable<Row>,
): AsyncGenerator<Row> {
  await using stream = new Peekable(text);
  const head = (await stream.peek(length)).join('');
  yield* read(head, stream);
}
