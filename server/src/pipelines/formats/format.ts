import { type Static, type TLiteral, type TObject, type TProperties, Type } from 'typebox';
import { optional } from '../../kernel/optional.ts';
import { type ByteStream, Peekable } from '../streams.ts';

/** A mapping that fits a format whatever the file has. Its columns may be missing in a file; then nothing is mapped. */
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

/** One file to be read. */
export interface FormatReading {
  /** Unpacked. */
  readonly bytes: ByteStream;
  readonly notes: ReadingNotes;
  /** Where files may be put that are gone when reading ends. */
  readonly tempDir: string;
  /** @returns the bytes as text; a web page is refused. To be called once, and not beside `bytes`. */
  decode(encoding?: string, isMarkup?: boolean): TextStream;
}

/** What a feed format is: one record in the list of `formats.ts`. Every option is found out where it is left out. */
interface FormatParts<Type extends string, Options extends TProperties> {
  readonly type: Type;
  /** Its name for people. */
  readonly label: string;
  /** What becomes a row, and how columns are named. */
  readonly description: string;
  readonly options: Options;
  /** Whether a definition has to bring a mapping, must not, or may, since the format has one whose columns suggestions know. */
  readonly mapping: 'needed' | 'none' | DefaultMapping;
  /** How names of such files end, without a dot; none where the ending says less than the format. */
  readonly endings: readonly string[];
  /** All columns are known from the head: a mapping that names another one is refused. */
  readonly isTable?: true;
  open(
    reading: FormatReading,
    options: { type: Type } & Static<TObject<Options>>,
  ): AsyncIterable<readonly SourceRow[]>;
}

/** One format of the list, for code that reads any; `Format` is what a definition may say of one. */
export interface FeedFormat<Format>
  extends Pick<FormatParts<string, TProperties>, 'type' | 'mapping' | 'isTable'> {
  open(reading: FormatReading, options: Format): AsyncIterable<readonly SourceRow[]>;
}

/** Adds the schema of what a definition says of its format. */
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

export const headerRow = optional.integer({
  minimum: 0,
  maximum: 1_048_576,
  'x-label': 'Header row',
  description:
    'first row that may hold the names of the columns; default: the first one that is no title; 0: none does, and they are Column 1, …',
});

type FormatReason =
  /** Not what the format says: no JSON, a tag that is not closed, a zip that is none. */
  | 'damaged'
  /** Ends in the middle. */
  | 'broken_off'
  | 'too_large'
  /** Well made, but with something that is never read: a DTD, an entity, an encryption. */
  | 'refused'
  /** The list, the sheet or the column that the options name is not there. */
  | 'not_found';

/** Why a file cannot be read any further, in words for the owner of the pipeline. */
export class FormatProblem extends Error {
  override readonly name = 'FormatProblem';
  readonly reason: FormatReason;
  /** Where reading stopped, where the format has lines. */
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
 * What one file may make the service hold at a time. An attribute value has at most 65,536 characters and a product at
 * most 2,000 of them (docs/interface.md §2.3); descriptions in HTML are longer before they are mapped.
 */
export const LIMITS = {
  fieldCharacters: 1024 * 1024,
  /** The text of a row with all its fields; also what is held of a row that does not end. */
  rowCharacters: 8 * 1024 * 1024,
  /** Elements, attributes and values of a row, empty ones too: 150 bytes each, 40 MB in all. */
  rowParts: 250_000,
  /** As in docs/interface.md §8, and the few levels that lead to the list of products. */
  depth: 40,
  columns: 10_000,
} as const;

const tooLarge = (message: string, line?: number) => new FormatProblem('too_large', message, { line });

export const fieldTooLarge = (where: string, line?: number) =>
  tooLarge(
    `${where} is longer than ${LIMITS.fieldCharacters.toLocaleString('en')} characters, the limit`,
    line,
  );

export const rowTooLarge = (where: string, line?: number) =>
  tooLarge(
    `${where} is larger than ${LIMITS.rowCharacters.toLocaleString('en')} characters, the limit`,
    line,
  );

export const tooDeep = (where: string, line?: number) =>
  tooLarge(`${where} is nested deeper than ${LIMITS.depth} levels`, line);

const tooManyColumns = (where: string, line?: number) =>
  tooLarge(`${where} has more than ${LIMITS.columns.toLocaleString('en')} columns`, line);

/** Weighs one row while it is read: its text, and the parts that cost memory without text. */
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
    const most = `${LIMITS.rowParts.toLocaleString('en')} elements, attributes and values, the limit`;
    throw tooLarge(`${this.#what} has more than ${most}`, line);
  }

  reset(): void {
    this.#characters = 0;
    this.#parts = 0;
  }
}

/** A value of a column: a list where an element or a key stands more than once, or where the source has a list. */
export type ColumnValue = string | string[];

export interface SourceRow {
  /** For reports: the line of a csv or ndjson file, the row of a sheet, otherwise the place among all rows, from 1. */
  readonly number: number;
  /** Column by name. What the source leaves out or has as null is absent; what it leaves empty is ''. */
  readonly values: Columns<ColumnValue>;
  /** Of columns whose values are in lists of objects: the object that each value of the list is in, by number from 1. */
  readonly rows?: Columns<(number | undefined)[]>;
  /** The row as the source has it, for expressions. */
  readonly source: unknown;
  /** Absent when the row is sound. */
  readonly problems?: readonly RowProblem[];
}

/** What is wrong with one row. With a column only this column cannot be used, without one the row cannot. */
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
 * A class without a prototype of its own: `__proto__` and `constructor` are names like any other, and unlike
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

/** Gathers the values of one row; a name that comes again makes a list. */
export class RowValues {
  readonly values = createColumns<ColumnValue>();
  rows: Columns<(number | undefined)[]> | undefined;
  #count = 0;
  #rowCount = 0;

  /** @returns the number of an object of a list, whose values belong together */
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

  /** @param row  the number of the object that the value is in */
  addInRow(name: string, value: string, row: number): void {
    this.add(name, value, true);
    this.rows ??= createColumns();
    this.rows[name] ??= [];
    this.rows[name][(this.values[name]?.length ?? 1) - 1] = row;
  }
}

/** Documents differ in a few dozen paths. */
const UNREAD_PATHS = 1_000;

/** What a reader learns while it reads. */
export class ReadingNotes {
  /** What was found out rather than said: `delimiter`, `encoding`, `path`, `record`, `sheet`, … */
  readonly found: Record<string, string> = {};
  /** Some bytes are no text in the encoding; they became U+FFFD. */
  isDamaged = false;
  readonly #columns = new Set<string>();
  /** Paths of what makes no value, and how often; those that the format ignores on purpose are not among them. */
  readonly unread = new Map<string, number>();
  readonly #onUnread: ((path: string) => void) | undefined;

  /** @param onUnread  takes paths in place of counting them */
  constructor(onUnread?: (path: string) => void) {
    this.#onUnread = onUnread;
  }

  noteUnread(path: string): void {
    if (this.#onUnread !== undefined) this.#onUnread(path);
    else if (this.unread.has(path) || this.unread.size < UNREAD_PATHS)
      this.unread.set(path, (this.unread.get(path) ?? 0) + 1);
  }

  /** Names in the order of their first appearance, up to here; at most `LIMITS.columns`. */
  get columns(): readonly string[] {
    return [...this.#columns];
  }

  noteColumn(name: string): void {
    if (this.#columns.has(name) || this.#columns.size >= LIMITS.columns) return;
    this.#columns.add(copyText(name));
  }

  noteRows(rows: readonly SourceRow[]): void {
    for (const { values } of rows) for (const name in values) this.noteColumn(name);
  }
}

/** Reports the rows that damage has reached; a source that is sound may well hold the sign U+FFFD. */
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
  return { ...row, problems: [...(row.problems ?? []), ...problems] };
}

/** A part of a text keeps the whole text alive; what outlives its chunk has to be a copy. */
export function copyText(text: string): string {
  // By way of UTF-8 a plain text takes one byte a character; only half a pair does not survive it.
  return text.isWellFormed()
    ? Buffer.from(text).toString()
    : Buffer.from(text, 'utf16le').toString('utf16le');
}

interface TableRow {
  readonly number: number;
  readonly problem?: string | undefined;
}

interface TableOptions<Row> {
  /** As the owner chose; undefined: the first row that is no title. */
  readonly headerRow: number | undefined;
  readonly maxColumns?: number;
  /** By their places; a row may have no cell in some. */
  textsOf(row: Row): readonly string[];
}

/** Finds the row that names the columns, and hands on those behind it. */
export function openTable<Row extends TableRow>(
  notes: ReadingNotes,
  { headerRow, maxColumns = Number.POSITIVE_INFINITY, textsOf }: TableOptions<Row>,
) {
  let first = headerRow ?? 1;
  /** The first rows, until it is known which of them is the header. */
  let head: Row[] | undefined = headerRow === undefined ? [] : undefined;
  let names: readonly string[] | undefined;

  function isBehindHeader(row: Row): boolean {
    if (row.number < first) return false;
    if (names !== undefined) return true;
    if (row.problem !== undefined) throw new FormatProblem('damaged', row.problem, { line: row.number });
    const texts = textsOf(row);
    if (texts.length > maxColumns) throw tooManyColumns('The first row', row.number);
    names = first > 0 ? readHeader(texts) : texts.map((_, index) => nameByPlace(index));
    // Where a row has no cell there is no name.
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
    /** To be called behind the last row. @returns those whose header was not known yet */
    end,
    /** Of the columns, by their places. */
    get names(): readonly string[] {
      return names ?? [];
    },
  };
}

/**
 * @returns the names that a header gives: without spaces around them, the nameless ones by their place, those that come
 * again numbered, as Name, Name 2, and those behind the last name left out
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

/** Rows in which the names of the columns are searched. */
const HEAD_ROWS = 10;

/** @returns the place of the row that may hold names: a title above them fills a cell or two of many */
function findHeader(rows: readonly (readonly string[])[]): number {
  const filled = rows.map((cells) => cells.filter((cell) => cell.trim() !== '').length);
  const usual = filled.toSorted((a, b) => a - b)[Math.floor(filled.length / 2)] ?? 0;
  return Math.max(
    0,
    filled.findIndex((count) => count > 2 || count * 2 > usual),
  );
}

/** As far as a number is written out: no price or measure has more digits. */
const LARGEST_EXPONENT = 400;
const WITH_EXPONENT = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d{1,9})$/;

/** @returns a number as a plain decimal: `1.5e-7` becomes `0.00000015`; what has no exponent stays as it is written */
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
  // No pattern: one that matches zeros at the end takes the square of their number.
  const trimmed = decimals.slice(0, [...decimals].findLastIndex((digit) => digit !== '0') + 1);
  return `${sign}${integer.replace(/^0+(?=\d)/, '')}${trimmed === '' ? '' : `.${trimmed}`}`;
}

export type TextStream = AsyncIterable<string>;

/** How much is parsed in one go: what a reader holds and how long it keeps its thread follow from it. */
const CHUNK_BYTES = 64 * 1024;

/** Cuts large chunks, so that a source that hands over a whole file is read like any other. */
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
export async function* parseText<Part>(
  text: TextStream,
  parser: ChunkParser<Part>,
): AsyncGenerator<readonly Part[]> {
  for await (const chunk of text) yield parser.push(chunk);
  yield parser.end();
}

/** Reads the beginning of a text and hands the whole of it to the reader that is chosen; lets go if there is none. */
export async function* readAfterPeek<Row>(
  text: TextStream,
  length: number,
  read: (head: string, text: TextStream) => AsyncIterable<Row>,
): AsyncGenerator<Row> {
  await using stream = new Peekable(text);
  const head = (await stream.peek(length)).join('');
  yield* read(head, stream);
}
