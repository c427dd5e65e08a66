import { LIMITS, tooManyColumns } from './reading-limits.ts';

/** The value of a column. It is a list if an element or a key is repeated, or if the source has a list. */
export type ColumnValue = string | string[];

interface TableCells {
  /** The positions of the columns, by name. */
  readonly columns: ReadonlyMap<string, number>;
  /** Cells at the end may be missing. */
  readonly cells: readonly string[];
}

export interface SourceRow {
  /**
   * The number for reports: the line of a csv or ndjson file, the row of a sheet, otherwise the number among all rows,
   * from 1.
   */
  readonly number: number;
  /** Columns by name. Missing or null values of the source are absent, and empty values are ''. */
  readonly values: Columns<ColumnValue>;
  /** The same values by position, for a table. Its `values` are made only on demand. */
  readonly table?: TableCells;
  /** For columns with values in lists of objects: the number of each value's object, from 1. */
  readonly rows?: Columns<(number | undefined)[]>;
  /** The row in the form of the source, for expressions. */
  readonly source: unknown;
  /** Absent if the row has no problem. */
  readonly problems?: readonly RowProblem[];
}

/** The parts of a row that a mapping reads. */
export type RowCells = Pick<SourceRow, 'values' | 'table' | 'rows'>;

/** @returns the names of a row's columns */
export const listColumns = (row: RowCells): Iterable<string> =>
  row.table?.columns.keys() ?? Object.keys(row.values);

/** @returns the value of a column, without making all other values */
export function cellOf(row: RowCells, name: string): ColumnValue | undefined {
  if (row.table === undefined) return row.values[name];
  const index = row.table.columns.get(name);
  return index === undefined ? undefined : row.table.cells[index];
}

/** @returns the row with its values made, for callers that change some of them */
export function makePlain({ number, values, rows, source, problems }: SourceRow): SourceRow {
  return { number, values, rows, source, problems };
}

/** A problem of one row. With a column, only that column is unusable; without one, the whole row is. */
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

/** Values by names that come from a file. */
export type Columns<Value> = Record<string, Value>;

/**
 * A class without a prototype, so `__proto__` and `constructor` are ordinary names. Unlike the objects of
 * `Object.create(null)`, its objects have shapes, which makes a row of ten columns four times as fast.
 */
class NoPrototype {}
Reflect.deleteProperty(NoPrototype.prototype, 'constructor');
Object.setPrototypeOf(NoPrototype.prototype, null);

export function createColumns<Value>(): Columns<Value> {
  return new NoPrototype() as Columns<Value>;
}

/**
 * Whether a column repeats some values of another column, such as `model[@lang=de]` or `model[not(@lang)]`. It is used
 * only by a mapping that names it.
 */
export const isSelector = (name: string): boolean =>
  name.endsWith(']') && /\[(?:@[^=\]]+=[^\]]*|not\(@[^)\]]+\))\]$/.test(name);

/** Collects the values of one row; a repeated name makes a list. */
export class RowValues {
  readonly values = createColumns<ColumnValue>();
  rows: Columns<(number | undefined)[]> | undefined;
  #count = 0;
  #rowCount = 0;

  /** @returns the number of a new object in a list; the values of this object belong together */
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
