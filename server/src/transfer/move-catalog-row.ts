import type { DatabaseSync } from 'node:sqlite';
import type { MovedTable } from './move-layout.ts';
import { type MovedRow, type MovedValue, readValue } from './move-rows.ts';

/** What a catalog's file keeps in `meta`, as the row in `catalog` that PostgreSQL keeps. */

/** Columns that have no entry in `meta`: the file counts them by its sequences or from its rows. */
const COUNTED: Readonly<Record<string, { readonly sql: string; readonly sequence?: string }>> = {
  next_document_id: { sql: nextOf('document'), sequence: 'document' },
  next_build_id: { sql: nextOf('relation_build'), sequence: 'relation_build' },
  next_category_id: { sql: 'select coalesce(max(id), 1000000000) + 1 as next from category' },
  next_undo_id: {
    sql: `select 1 + max(coalesce((select max(id) from undo_log), 0), coalesce((select max(undo_id) from undo_change), 0)) as next`,
  },
};

function nextOf(table: string): string {
  return `select coalesce(max(seq), 0) + 1 as next from sqlite_sequence where name = '${table}'`;
}

/** @throws Error when `meta` and `catalog` do not hold the same */
export function readMetaRows(file: DatabaseSync, table: MovedTable): MovedRow[] {
  const meta = readMeta(file);
  const names = new Set(table.columns.map(({ name }) => name));
  const unknown = [...meta.keys()].filter((name) => !names.has(name));
  if (unknown.length > 0) throw new Error(`meta holds ${unknown}, which no move knows`);
  return [
    table.columns.map((column) => {
      const value = meta.get(column.name) ?? readCounted(file, column.name);
      return readValue(value, column);
    }),
  ];
}

function readMeta(file: DatabaseSync): Map<string, unknown> {
  const rows = file.prepare('select name, value from meta order by name').all();
  return new Map(rows.map(({ name, value }) => [String(name), value]));
}

function readCounted(file: DatabaseSync, column: string): unknown {
  const counted = COUNTED[column];
  if (counted === undefined) throw new Error(`catalog.${column} has no place in a catalog's file`);
  return file.prepare(counted.sql).get()?.next;
}

/** In the transaction of the caller. */
export function writeMetaRows(file: DatabaseSync, table: MovedTable, rows: readonly MovedRow[]): void {
  for (const row of rows) {
    for (const [at, { name }] of table.columns.entries()) writeMetaValue(file, name, row[at] ?? null);
  }
}

function writeMetaValue(file: DatabaseSync, name: string, value: MovedValue): void {
  const { changes } = file.prepare('update meta set value = ? where name = ?').run(value, name);
  if (changes > 0) return;
  const counted = COUNTED[name];
  if (counted === undefined) throw new Error(`catalog.${name} has no place in a catalog's file`);
  if (counted.sequence !== undefined) writeSequence(file, counted.sequence, Number(value) - 1);
}

/** Numbers go on above the last one given, also where its row is gone. */
export function writeSequence(database: DatabaseSync, table: string, last: number): void {
  const { changes } = database.prepare('update sqlite_sequence set seq = ? where name = ?').run(last, table);
  if (changes > 0 || last === 0) return;
  database.prepare('insert into sqlite_sequence (name, seq) values (?, ?)').run(table, last);
}
