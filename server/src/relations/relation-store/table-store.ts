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
  const found = yield* row<TableRow>`${TABLE} and name = ${name}`;
  return found && toTable(found);
}

/** @returns the existing tables, by name */
export function* findTables(names: readonly string[]): Program<ValueTable[]> {
  if (names.length === 0) return [];
  const found = yield* rows<TableRow>`${TABLE} and name ${among(names)} order by name`;
  return found.map(toTable).map(({ name, pairs }) => ({ name, pairs }));
}

/** @returns a page of tables by name, after `after` */
export function* listTables(after: string, limit: number): Program<StoredTable[]> {
  return (yield* rows<TableRow>`${TABLE} and name > ${after} order by name limit ${limit}`).map(toTable);
}
