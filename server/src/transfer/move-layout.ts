import { DatabaseSync } from 'node:sqlite';
import type { SqlSession } from '../storage/storage.ts';
import { MOVE_PROGRESS, migrate } from '../storage/storage.ts';

/**
 * What a move copies, read from the two schemas themselves, so that a new table or column is either moved or refused,
 * never forgotten. Kinds are those of PostgreSQL, which is strict about them.
 */
export interface MovedTable {
  readonly name: string;
  /** Each catalog has its own: a file's table, or rows with their `project_id`, which is not among the columns. */
  readonly isOfCatalog: boolean;
  readonly columns: readonly MovedColumn[];
  /** Pages are read in its order; each engine has its own. */
  readonly keys: Readonly<Record<Engine, readonly MovedColumn[]>>;
}

export interface MovedColumn {
  readonly name: string;
  readonly kind: ValueKind;
  /** SQLite keeps the text as bytes. */
  readonly isBlob: boolean;
}

export type Engine = 'embedded' | 'postgres';
export type ValueKind = 'integer' | 'number' | 'text' | 'bytes';

/** Tables of PostgreSQL alone that no move takes along, and why. */
export const NOT_MOVED: ReadonlyMap<string, string> = new Map([
  ['service', 'the version of the schema and the beat of running processes'],
  ['rate_window', 'counts of the last minute'],
  ['search_document', 'the index of search, which the next search makes'],
  ['search_walk', 'how far that is'],
  ['payload', 'bodies, which are files in the embedded store'],
  [MOVE_PROGRESS, 'of the move itself'],
]);

/**
 * Columns that no move takes along: who runs a task is nobody in the target, which would otherwise be taken for served as
 * long as the lease of a killed process goes on.
 */
export const NOT_MOVED_COLUMNS: ReadonlySet<string> = new Set([
  ...['task.leased_by', 'task.lease_until'],
  ...['webhook_queue.leased_by', 'webhook_queue.lease_until'],
  ...['upload_process.schema_version', 'upload_process.place', 'upload_process.takes_batches'],
]);

/** The embedded store keeps it in `meta`. */
export const CATALOG_ROW = 'catalog';

const KINDS: Readonly<Record<string, ValueKind>> = {
  int8: 'integer',
  float8: 'number',
  text: 'text',
  bytea: 'bytes',
};

interface ColumnRow {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  /** From 1 on; 0: not in the key. */
  readonly keyPlace: number;
}

/** @throws Error when the two schemas do not have the same tables and columns */
export async function describeMove(postgres: SqlSession): Promise<readonly MovedTable[]> {
  const theirs = Map.groupBy(await readPostgresColumns(postgres), ({ table }) => table);
  const ours = readEmbeddedColumns();
  return [
    ...[...ours].map(([name, { isOfCatalog, columns }]) =>
      describeTable({ name, isOfCatalog, columns }, theirs.get(name)),
    ),
    describeCatalogTable(theirs.get(CATALOG_ROW)),
  ];
}

/** @returns tables of the database that no move knows */
export async function listUnknown(postgres: SqlSession): Promise<string[]> {
  const known = new Set([...readEmbeddedColumns().keys(), CATALOG_ROW, ...NOT_MOVED.keys()]);
  const tables = new Set((await readPostgresColumns(postgres)).map(({ table }) => table));
  return [...tables].filter((table) => !known.has(table));
}

interface EmbeddedTable {
  readonly isOfCatalog: boolean;
  readonly columns: readonly ColumnRow[];
}

/** Tables in the order in which they were made: whoever is referred to comes first. */
function readEmbeddedColumns(): Map<string, EmbeddedTable> {
  const tables = new Map<string, EmbeddedTable>();
  for (const kind of ['control', 'catalog'] as const) {
    const database = new DatabaseSync(':memory:');
    migrate(database, kind);
    const rows = database
      .prepare(
        `select t.name as "table", c.name as "column", lower(c.type) as type, c.pk as "keyPlace"
         from sqlite_schema t, pragma_table_info(t.name) c
         where t.type = 'table' and t.name not like 'sqlite\\_%' escape '\\' and t.name <> 'meta'
         order by t.rowid, c.cid`,
      )
      .all() as unknown as ColumnRow[];
    database.close();
    for (const [name, columns] of Map.groupBy(rows, ({ table }) => table)) {
      tables.set(name, { isOfCatalog: kind === 'catalog', columns });
    }
  }
  return tables;
}

async function readPostgresColumns(postgres: SqlSession): Promise<ColumnRow[]> {
  return postgres.rows<ColumnRow>(
    `select c.relname as "table", a.attname as "column", t.typname as type,
       coalesce(array_position(string_to_array(i.indkey::text, ' '), a.attnum::text), 0)::bigint as "keyPlace"
     from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       join pg_type t on t.oid = a.atttypid
       left join pg_index i on i.indrelid = c.oid and i.indisprimary
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
     order by c.relname, a.attnum`,
  );
}

function describeTable(
  { name, isOfCatalog, columns }: EmbeddedTable & { name: string },
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
  const described = moved.map((column) => describeColumn(column, theirs));
  return {
    name,
    isOfCatalog,
    columns: described,
    keys: { embedded: keyOf(moved, described), postgres: keyOf(theirs, described) },
  };
}

function describeColumn(ours: ColumnRow, theirs: readonly ColumnRow[]): MovedColumn {
  const { table, column } = ours;
  const type = theirs.find((their) => their.column === column)?.type ?? '';
  const kind = KINDS[type];
  if (kind === undefined) throw new Error(`${table}.${column} is of the type ${type}, which no move knows`);
  return { name: column, kind, isBlob: ours.type === 'blob' };
}

/** Of `meta`; the embedded store makes its row from it. */
function describeCatalogTable(present: readonly ColumnRow[] = []): MovedTable {
  const theirs = present.filter(({ column }) => column !== 'project_id');
  const columns = theirs.map((column) => describeColumn(column, theirs));
  const key = keyOf(theirs, columns);
  return { name: CATALOG_ROW, isOfCatalog: true, columns, keys: { embedded: key, postgres: key } };
}

function keyOf(rows: readonly ColumnRow[], columns: readonly MovedColumn[]): MovedColumn[] {
  return rows
    .filter(({ keyPlace }) => keyPlace > 0)
    .sort((one, other) => one.keyPlace - other.keyPlace)
    .flatMap(({ column }) => columns.filter(({ name }) => name === column));
}
