import { LIMITS, tooManyColumns } from './reading-limits.ts';

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
