import { among, own, type Program, row, rows, sql } from '../../storage/programs/programs.ts';
import type { StoredTable, ValueTable } from '../relation-definitions/relation-definitions.ts';

/** Reads value tables. */

interface TableRow {
  readonly name: string;
  readonly definition: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

const TABLE = sql`select name, definition, created_at as "createdAt", updated_at as "updatedAt"
  from value_table where ${own()}`;

const toTable = ({ definition, ...stored }: TableRow): StoredTable => ({
  ...(JSON.parse(definition) as Pick<StoredTable, 'description' | 'pairs'>),
  ...stored,
});

export function* findTable(name: string): Program<StoredTable | undefined> {
  const tableRow = yield* row<TableRow>`${TABLE} and name = ${name}`;
  return tableRow && toTable(tableRow);
}

/** @returns the existing tables, by name */
export function* findTables(names: readonly string[]): Program<ValueTable[]> {
  if (names.length === 0) return [];
  const tableRows = yield* rows<TableRow>`${TABLE} and name ${among(names)} order by name`;
  return tableRows.map(toTable).map(({ name, pairs }) => ({ name, pairs }));
}

/**
 * Characters of definitions that the serving thread parses for one page: about 30 ms. A table has up to 32 MiB, so a page of
 * 100 tables stopped the service for seconds.
 */
const PAGE_CHARACTERS = 4 * 1024 * 1024;

/** A page of tables, and whether there are no more. */
export interface TablePage {
  readonly tables: readonly StoredTable[];
  readonly isLast: boolean;
}

/** @returns the tables by name, after `after`: as many as the page holds, and at least one */
export function* listTables(after: string, limit: number): Program<TablePage> {
  const next = yield* rows<MeasuredTable>`select name, length(definition) as characters
    from value_table where ${own()} and name > ${after} order by name limit ${limit + 1}`;
  const names = takePage(next.slice(0, limit));
  if (names.length === 0) return { tables: [], isLast: true };
  const page = yield* rows<TableRow>`${TABLE} and name ${among(names)} order by name`;
  return { tables: page.map(toTable), isLast: names.length === next.length };
}

interface MeasuredTable {
  readonly name: string;
  readonly characters: number;
}

/** @returns the names of the first tables that fit on a page */
function takePage(tables: readonly MeasuredTable[]): string[] {
  let characters = 0;
  const end = tables.findIndex((table) => {
    characters += table.characters;
    return characters > PAGE_CHARACTERS;
  });
  return tables.slice(0, end < 0 ? undefined : Math.max(1, end)).map(({ name }) => name);
}

/** @returns the characters of the definitions of these tables together */
export function* measureTables(names: readonly string[]): Program<number> {
  if (names.length === 0) return 0;
  const measured = yield* row<{ readonly characters: number }>`select
    coalesce(sum(length(definition)), 0) as characters from value_table where ${own()} and name ${among(names)}`;
  return Number(measured?.characters ?? 0);
}
