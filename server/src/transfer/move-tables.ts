import { DatabaseSync } from 'node:sqlite';
import { migrate } from '../storage/migrations/migrations.ts';
import { CopyRows } from '../storage/postgres/postgres.ts';
import type { SqlSession } from '../storage/programs/programs.ts';
import { OWNER_ENTRIES } from '../storage/sqlite/sqlite.ts';

/**
 * A table that a move copies. Tables and columns are read from the two schemas themselves, so that a new one is either
 * moved or refused. The kinds of values are those of PostgreSQL, because SQLite does not enforce them.
 */
export interface MovedTable {
  readonly name: string;
  /**
   * Whether each catalog has its own table in its file, or its own rows. The column `project_id` is not in `columns`.
   */
  readonly isOfCatalog: boolean;
  readonly columns: readonly MovedColumn[];
  /** The columns of the key, which orders the pages. Each engine has its own key. */
  readonly keys: Readonly<Record<Engine, readonly MovedColumn[]>>;
}

export interface MovedColumn {
  readonly name: string;
  readonly kind: ValueKind;
  /** Whether SQLite stores the text as bytes. */
  readonly isBlob: boolean;
}

export type Engine = 'embedded' | 'postgres';
export type ValueKind = 'integer' | 'number' | 'text' | 'bytes';

/**
 * Columns that a move does not copy. Leases are omitted, because the target would count as served for as long as a
 * killed process holds one. Runs of members are omitted, because they are converted into rows before.
 */
export const NOT_MOVED_COLUMNS: ReadonlySet<string> = new Set([
  ...['task.leased_by', 'task.lease_until'],
  ...['webhook_queue.leased_by', 'webhook_queue.lease_until'],
  ...['relation_member.run', 'relation_member.least', 'relation_member.most', 'relation_member.others'],
  ...['upload_process.schema_version', 'upload_process.place', 'upload_process.takes_batches'],
]);

/** The name of the table in PostgreSQL. In a catalog file the table is `meta`. */
const CATALOG_ROW = 'catalog';

const KINDS: Readonly<Record<string, ValueKind>> = {
  int8: 'integer',
  float8: 'number',
  text: 'text',
  bytea: 'bytes',
};

type ColumnRow = {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  /** The position in the key, from 1; 0 if the column is not in the key. */
  readonly keyPosition: number;
};

/** @throws Error if the two schemas do not have the same tables and columns */
export async function describeMove(postgres: SqlSession): Promise<readonly MovedTable[]> {
  const postgresColumns = Map.groupBy(await readPostgresColumns(postgres), ({ table }) => table);
  return readEmbeddedTables().map((table) => describeTable(table, postgresColumns.get(table.name)));
}

interface EmbeddedTable {
  readonly name: string;
  readonly isOfCatalog: boolean;
  readonly columns: readonly ColumnRow[];
}

/** Lists the tables in the order of their creation, so that a row is copied after the rows that it refers to. */
function readEmbeddedTables(): EmbeddedTable[] {
  return (['control', 'catalog'] as const).flatMap((kind) => {
    using database = new DatabaseSync(':memory:');
    migrate(database, kind);
    if (kind === 'catalog') showCatalogRow(database);
    const rows = database
      .prepare(
        `select t.name as "table", c.name as "column", lower(c.type) as type, c.pk as "keyPosition"
         from (select rowid, name from sqlite_schema where type = 'table' union all select 1e9, name from sqlite_temp_schema where type = 'view') t,
           pragma_table_info(t.name) c
         where t.name not like 'sqlite\\_%' escape '\\' and t.name not in ('meta', 'installation', 'relation_run', 'relation_dropped_run', 'relation_list')
         order by t.rowid, c.cid`,
      )
      .all() as ColumnRow[];
    const tables = [...Map.groupBy(rows, ({ table }) => table)];
    return tables.map(([name, columns]) => ({ name, isOfCatalog: kind === 'catalog', columns }));
  });
}

/** Columns of `catalog` without an entry in `meta`. A file derives them from its sequences or its rows. */
const COUNTED: readonly { readonly name: string; readonly sql: string; readonly sequence?: string }[] = [
  { name: 'next_document_id', sql: nextOf('document'), sequence: 'document' },
  { name: 'next_build_id', sql: nextOf('relation_build'), sequence: 'relation_build' },
  { name: 'next_category_id', sql: 'select coalesce(max(id), 1000000000) + 1 from category' },
  {
    name: 'next_undo_id',
    sql: 'select 1 + max(coalesce((select max(id) from undo_log), 0), coalesce((select max(undo_id) from undo_change), 0))',
  },
];

function nextOf(table: string): string {
  return `select coalesce(max(seq), 0) + 1 from sqlite_sequence where name = '${table}'`;
}

/**
 * Adds a writable view to this connection that presents `meta` of a catalog file as the `catalog` row of PostgreSQL.
 */
export function showCatalogRow(file: DatabaseSync): void {
  const meta = file
    .prepare('select name, typeof(value) as type from meta order by name')
    .all()
    .filter(({ name }) => !OWNER_ENTRIES.some((entry) => entry === name));
  const columns = [
    ...meta.map(({ name }) => `(select value from meta where name = '${name}') as ${name}`),
    ...COUNTED.map(({ name, sql }) => `(${sql}) as ${name}`),
  ];
  const changes = [
    // Numbers arrive as floating-point values, which `meta` would store without the cast.
    ...meta.map(
      ({ name, type }) => `update meta set value = cast(new.${name} as ${type}) where name = '${name}';`,
    ),
    ...COUNTED.flatMap(({ name, sequence }) =>
      sequence === undefined
        ? []
        : `delete from sqlite_sequence where name = '${sequence}';
           insert into sqlite_sequence (name, seq) select '${sequence}', new.${name} - 1 where new.${name} > 1;`,
    ),
  ];
  file.exec(`create temp view ${CATALOG_ROW} as select ${columns.join(', ')};
    create temp trigger fill_catalog instead of insert on ${CATALOG_ROW} begin ${changes.join(' ')} end`);
}

async function readPostgresColumns(postgres: SqlSession): Promise<ColumnRow[]> {
  return postgres.rows<ColumnRow>(
    `select c.relname as "table", a.attname as "column", t.typname as type,
       coalesce(array_position(string_to_array(i.indkey::text, ' '), a.attnum::text), 0)::bigint as "keyPosition"
     from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       join pg_type t on t.oid = a.atttypid
       left join pg_index i on i.indrelid = c.oid and i.indisprimary
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
     order by c.relname, a.attnum`,
  );
}

function describeTable(
  { name, isOfCatalog, columns }: EmbeddedTable,
  present: readonly ColumnRow[] = [],
): MovedTable {
  const isMoved = ({ column }: ColumnRow) => !NOT_MOVED_COLUMNS.has(`${name}.${column}`);
  const own = isOfCatalog ? present.filter(({ column }) => column !== 'project_id') : present;
  const [moved, theirs] = [columns.filter(isMoved), own.filter(isMoved)];
  const names = (rows: readonly ColumnRow[]) => rows.map(({ column }) => column).sort();
  if (names(moved).join() !== names(theirs).join()) {
    throw new Error(
      `The table ${name} has the columns ${names(moved)} in one engine and ${names(theirs)} in the other`,
    );
  }
  const described = moved.map(({ column, type: stored }): MovedColumn => {
    const type = theirs.find((their) => their.column === column)?.type ?? '';
    const kind = KINDS[type];
    if (kind === undefined)
      throw new Error(`${name}.${column} has the type ${type}, which a move does not support`);
    return { name: column, kind, isBlob: stored === 'blob' };
  });
  const keyOf = (rows: readonly ColumnRow[]) =>
    rows
      .filter(({ keyPosition }) => keyPosition > 0)
      .sort((left, right) => left.keyPosition - right.keyPosition)
      .flatMap((row) => described.filter((column) => column.name === row.column));
  return { name, isOfCatalog, columns: described, keys: { embedded: keyOf(moved), postgres: keyOf(theirs) } };
}

export const quoted = (name: string) => `"${name}"`;
export const listed = (columns: readonly MovedColumn[]) => columns.map(({ name }) => quoted(name)).join(', ');

type MovedValue = number | string | Uint8Array | null;
/** The values in the order of the table's columns. */
export type MovedRow = readonly MovedValue[];

/** @throws Error if a value does not have the type of its column, such as a number in a column of bytes */
export function readValue(value: unknown, { name, kind }: MovedColumn): MovedValue {
  if (value === null) return null;
  if (kind === 'integer' && Number.isSafeInteger(value)) return value as number;
  if (kind === 'number' && typeof value === 'number') return value;
  if (kind === 'text' && (typeof value === 'string' || value instanceof Uint8Array)) return value;
  if (kind === 'bytes' && value instanceof Uint8Array) return value;
  throw new Error(`the column ${name} has a value of type ${typeof value} instead of ${kind}`);
}

export function sizeOfRow(row: MovedRow): number {
  let bytes = 0;
  for (const value of row) bytes += typeof value === 'number' || value === null ? 8 : value.length;
  return bytes;
}

export function addToCopy(copy: CopyRows, row: MovedRow, columns: readonly MovedColumn[]): void {
  for (const [index, { kind }] of columns.entries()) {
    const value = row[index] ?? null;
    if (typeof value === 'string') copy.text(value);
    else if (typeof value === 'number') kind === 'number' ? copy.bytes(toDouble(value)) : copy.integer(value);
    else copy.bytes(value);
  }
}

function toDouble(value: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(value);
  return bytes;
}

/** Writes the key of a row, after which a page ended, as JSON with bytes as `{"hex":"…"}`. */
export function writeKey(key: MovedRow): string {
  return JSON.stringify(
    key.map((value) => (value instanceof Uint8Array ? { hex: Buffer.from(value).toString('hex') } : value)),
  );
}

export function readKey(text: string): MovedRow {
  const key = JSON.parse(text) as (number | string | null | { hex: string })[];
  return key.map((value) =>
    value !== null && typeof value === 'object' ? Buffer.from(value.hex, 'hex') : value,
  );
}

/**
 * The embedded store derives these from its rows, and can reuse a number that no row has, because callers never see it.
 * They are written but not compared.
 */
const COUNTED_FROM_ROWS = new Set(['next_category_id', 'next_undo_id']);

/** @returns the values of a row as the bytes that are copied; they must be equal in both engines */
export function packRow(row: MovedRow, columns: readonly MovedColumn[]): Uint8Array {
  const copy = new CopyRows(columns.length, sizeOfRow(row));
  const compared = row.map((value, index) =>
    COUNTED_FROM_ROWS.has(columns[index]?.name ?? '') ? null : value,
  );
  addToCopy(copy, compared, columns);
  return copy.finish();
}
