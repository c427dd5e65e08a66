import { LIMITS, tooManyColumns } from './format-problem.ts';

/** A value of a column: a list where an element or a key stands more than once, or where the source has a list. */
export type ColumnValue = string | string[];

export interface SourceRow {
  /** For reports: the line of a csv or ndjson file, the row of a sheet, otherwise the place among all rows, from 1. */
  readonly number: number;
  /** Column by name. What the source leaves out or has as null is absent; what it leaves empty is ''. */
  readonly values: Columns<ColumnValue>;
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

/** Gathers the values of one row; a name that comes again makes a list. */
export class RowValues {
  readonly values = createColumns<ColumnValue>();
  #count = 0;

  add(name: string, value: string, isList = false): void {
    const present = this.values[name];
    this.#count += 1;
    if (this.#count > LIMITS.columns) throw tooManyColumns('A row');
    if (present === undefined) this.values[name] = isList ? [value] : value;
    else if (typeof present === 'string') this.values[name] = [present, value];
    else present.push(value);
  }
}

/** What a reader learns while it reads. */
export class ReadingNotes {
  /** What was found out rather than said: `delimiter`, `encoding`, `path`, `record`, `sheet`, … */
  readonly found: Record<string, string> = {};
  /** Some bytes are no text in the encoding; they became U+FFFD. */
  isDamaged = false;
  readonly #columns = new Set<string>();

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
  const damaged = Object.keys(row.values).filter((name) => isDamaged(row.values[name]));
  if (damaged.length === 0) return row;
  const problems = damaged.map(
    (column): RowProblem => ({
      code: 'encoding',
      column,
      message: 'bytes that are no text in the encoding of the file',
    }),
  );
  return { ...row, problems: [...(row.problems ?? []), ...problems] };
}

function isDamaged(value: ColumnValue | undefined): boolean {
  return typeof value === 'string'
    ? value.includes('\uFFFD')
    : (value ?? []).some((text) => text.includes('\uFFFD'));
}

/** A part of a text keeps the whole text alive; what outlives its chunk has to be a copy. */
export function copyText(text: string): string {
  // By way of UTF-8 a plain text takes one byte a character; only half a pair does not survive it.
  return text.isWellFormed()
    ? Buffer.from(text).toString()
    : Buffer.from(text, 'utf16le').toString('utf16le');
}

/** @returns the names with those that come again numbered: Name, Name 2 */
export function distinctNames(names: readonly string[]): string[] {
  const taken = new Set(names);
  const used = new Set<string>();
  const numbers = new Map<string, number>();
  return names.map((name) => {
    if (!used.has(name)) {
      used.add(name);
      return name;
    }
    let number = numbers.get(name) ?? 2;
    while (taken.has(`${name} ${number}`)) number += 1;
    numbers.set(name, number + 1);
    return `${name} ${number}`;
  });
}

/**
 * @returns the names that a header gives: without spaces around them, the nameless ones by their place, and those
 * behind the last name left out
 */
export function readHeader(cells: readonly string[]): string[] {
  const names = cells.map((cell) => cell.trim());
  const last = names.findLastIndex((name) => name !== '');
  return distinctNames(names.slice(0, last + 1).map((name, index) => name || nameByPlace(index)));
}

export const nameByPlace = (index: number): string => `Column ${index + 1}`;

/** Rows in which the names of the columns are looked for. */
export const HEAD_ROWS = 10;

/** @returns the place of the row that may hold names: a title above them fills a cell or two of many */
export function findHeader(rows: readonly (readonly string[])[]): number {
  const filled = rows.map((cells) => cells.filter((cell) => cell.trim() !== '').length);
  const usual = filled.toSorted((a, b) => a - b)[Math.floor(filled.length / 2)] ?? 0;
  return Math.max(
    0,
    filled.findIndex((count) => count > 2 || count * 2 > usual),
  );
}
