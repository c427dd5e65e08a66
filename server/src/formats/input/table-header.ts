import { FormatProblem, tooManyColumns } from './reading-limits.ts';
import type { ReadingNotes } from './reading-notes.ts';

interface TableOptions<Row> {
  /** The owner's choice; undefined means the first row that is not a title. */
  readonly headerRow: number | undefined;
  readonly maxColumns?: number;
  /** Texts by position. A row may lack some cells. */
  textsOf(row: Row): readonly string[];
}

/** Finds the row that names the columns, and returns the rows after it. */
export function openTable<Row extends { readonly number: number; readonly problem?: string | undefined }>(
  notes: ReadingNotes,
  { headerRow, maxColumns = Number.POSITIVE_INFINITY, textsOf }: TableOptions<Row>,
) {
  let first = headerRow ?? 1;
  /** The first rows, until the header is found among them. */
  let head: Row[] | undefined = headerRow === undefined ? [] : undefined;
  let names: readonly string[] | undefined;

  function isAfterHeader(row: Row): boolean {
    if (row.number < first) return false;
    if (names !== undefined) return true;
    if (row.problem !== undefined) throw new FormatProblem('damaged', row.problem, { line: row.number });
    const texts = textsOf(row);
    if (texts.length > maxColumns) throw tooManyColumns('The first row', row.number);
    names = first > 0 ? readHeader(texts) : texts.map((_, index) => nameByPosition(index));
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
    const index = findHeader(sound.map(textsOf));
    if (index > 0) {
      first = sound[index]?.number ?? 1;
      notes.found.headerRow = String(first);
    }
    return rows.filter(isAfterHeader);
  }

  return {
    take(rows: readonly Row[]): Row[] {
      if (head === undefined) return rows.filter(isAfterHeader);
      for (const row of rows) head.push(row);
      return head.length < HEAD_ROWS ? [] : end();
    },
    /** Call it after the last row. @returns the rows that were held back until the header was found */
    end,
    /** The names of the columns, by position. */
    get names(): readonly string[] {
      return names ?? [];
    },
  };
}

/**
 * @returns the names in a header, trimmed and without cells after the last name. A column without a name is named by
 * its position, and a repeated name is numbered, such as Name, Name 2.
 */
function readHeader(cells: readonly string[]): string[] {
  const trimmed = Array.from(cells, (cell = '', index) => cell.trim() || nameByPosition(index));
  const names = trimmed.slice(0, cells.findLastIndex((cell = '') => cell.trim() !== '') + 1);
  const taken = new Set(names);
  const numbers = new Map<string, number>();
  return names.map((name) => {
    let number = numbers.get(name) ?? 1;
    while (number > 1 && taken.has(`${name} ${number}`)) number += 1;
    numbers.set(name, number + 1);
    return number === 1 ? name : `${name} ${number}`;
  });
}

export const nameByPosition = (index: number): string => `Column ${index + 1}`;

/** The number of rows that are searched for the column names. */
const HEAD_ROWS = 10;

/** @returns the index of the row that may contain the names; a title above it fills only one or two of many cells */
function findHeader(rows: readonly (readonly string[])[]): number {
  const filled = rows.map((cells) => cells.filter((cell) => cell.trim() !== '').length);
  const usual = filled.toSorted((a, b) => a - b)[Math.floor(filled.length / 2)] ?? 0;
  const index = filled.findIndex((count) => count > 2 || count * 2 > usual);
  return Math.max(0, index);
}
