import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { catalogPath, dataFolderAt } from '../../src/storage/folder/folder.ts';
import { migrate } from '../../src/storage/migrations/migrations.ts';
import { OWNER_ENTRIES } from '../../src/storage/sqlite/sqlite.ts';
import { NOT_MOVED_COLUMNS } from '../../src/transfer/move-tables.ts';

/** Fills every column of whole data folders, and reads them for a comparison. */

/** By `file, table`: the number of rows and a hash of them in key order. */
export type StoredRows = Record<string, string>;

/** Reads a data folder that is not in use, except its identity. Values are compared with their types. */
export function readStoredRows(root: string): StoredRows {
  const folder = dataFolderAt(root);
  const stored: StoredRows = {};
  readFile(folder.control, 'control', stored);
  for (const name of readdirSync(folder.catalogs).sort()) {
    if (name.endsWith('.db')) readFile(join(folder.catalogs, name), name, stored);
  }
  return stored;
}

function readFile(path: string, file: string, stored: StoredRows): void {
  const database = new DatabaseSync(path);
  const tables = database
    .prepare(
      "select name from sqlite_schema where type = 'table' and name not in ('installation', 'relation_run', 'relation_dropped_run', 'relation_list')",
    )
    .all();
  for (const { name } of tables) {
    const described = describeRows(database, String(name));
    if (described !== undefined) stored[`${file}, ${name}`] = described;
  }
  database.close();
}

/** @returns undefined for a table without rows */
function describeRows(database: DatabaseSync, name: string): string | undefined {
  const columns = listColumns(database, name);
  const key = columns.filter(({ key }) => key > 0).sort((column, other) => column.key - other.key);
  const order = (key.length > 0 ? key : columns).map((column) => `"${column.name}"`).join();
  // Members in runs and members in rows are equal, because a move spreads runs into rows.
  const source = name === 'relation_member' ? 'relation_entry' : name;
  const hash = createHash('sha256');
  let rows = 0;
  for (const row of database.prepare(`select * from "${source}" order by ${order}`).iterate()) {
    if (OWNER_ENTRIES.some((entry) => name === 'meta' && row.name === entry)) continue;
    rows += 1;
    for (const [column, value] of Object.entries(row)) hash.update(describeValue(`${name}.${column}`, value));
  }
  return rows === 0 ? undefined : `${rows} rows, ${hash.digest('hex')}`;
}

function describeValue(column: string, value: unknown): string {
  if (NOT_MOVED_COLUMNS.has(column)) return '';
  return value instanceof Uint8Array
    ? `${column}=x${Buffer.from(value).toString('hex')};`
    : `${column}=${JSON.stringify(value)};`;
}

type StoredColumn = {
  readonly name: string;
  readonly type: string;
  readonly key: number;
  readonly isRequired: number;
};

const listColumns = (database: DatabaseSync, table: string): StoredColumn[] =>
  database
    .prepare(
      `select name, lower(type) as type, pk as key, "notnull" as isRequired from pragma_table_info('${table}') order by cid`,
    )
    .all() as StoredColumn[];

const TEXTS = ['', 'plain', 'ÄÖÜ ß', '😀 surrogates', 'line\nbreak\ttab\\N', '"quoted"', '\u0001\u007f'];
/** For each type, values that one of the two stores could confuse with another. */
const BYTES = [[], [0], [0xff, 0xfe], [0x5c, 0x78], [0, 1, 2, 0, 0]].map((bytes) => Uint8Array.from(bytes));

/** Values of columns where arbitrary ones would be refused or useless. */
type Fixed = Readonly<Record<string, (row: number) => SQLInputValue>>;

const ONE = () => 1;
const NULL = () => null;
const FIXED: Readonly<Record<string, Fixed>> = {
  project_group: { account_id: ONE },
  project: { account_id: ONE, project_group_id: ONE },
  api_key: { account_id: ONE },
  console_user: { account_id: ONE },
  console_session: { user_id: ONE },
  owner_link: { account_id: ONE },
  passkey: { user_id: ONE },
  passkey_challenge: { user_id: ONE },
  invitation: { account_id: ONE },
  webhook_endpoint: { account_id: ONE },
  // One row per member, as in PostgreSQL. Another test covers runs.
  relation_member: { run: NULL, least: NULL, most: NULL },
  task: {
    status: (row) => (row === 3 ? 'RUNNING' : 'FINISHED'),
    lease_until: NULL,
    progress: (row) => (row % 2 === 0 ? 33.25 : 100),
    payload: (row) => (row === 3 ? '{"source":{"payloadName":"task.body"}}' : '{}'),
  },
  channel_snapshot: {
    project_id: ONE,
    files: (row) => (row === 1 ? '[{"pieces":[{"name":"channel.body"}]}]' : '[{"pieces":[]}]'),
  },
  full_update_batch: { project_id: ONE, full_update_id: ONE, payload_name: (row) => `batch-${row}.body` },
};

/** Counters above the highest row, as after deletions. */
const AHEAD = 1_000;

/**
 * Makes a data folder with rows in every table of the schema, whatever its columns, and with bodies: of an open task,
 * of full updates and of a channel, and one without a reference. @param catalogs rows per table for the catalogs 1, 2,
 * …
 */
export function fillDataFolder(root: string, catalogs: readonly number[]): void {
  const folder = dataFolderAt(root);
  for (const path of [folder.catalogs, folder.payloads]) mkdirSync(path, { recursive: true });
  fillFile(folder.control, 'control', { rows: 24 });
  for (const [index, rows] of catalogs.entries())
    fillFile(catalogPath(folder, index + 1), 'catalog', { rows });
  for (const name of ['task', 'batch-1', 'batch-2', 'channel', 'nobody']) {
    writeFileSync(join(folder.payloads, `${name}.body`), Buffer.alloc(100_000, name));
  }
}

function fillFile(path: string, kind: 'control' | 'catalog', { rows }: { rows: number }): void {
  const database = new DatabaseSync(path);
  database.exec('pragma journal_mode = wal');
  migrate(database, kind);
  const tables = database
    .prepare(
      "select name from sqlite_schema where type = 'table' and name not in ('meta', 'installation', 'sqlite_sequence', 'relation_run', 'relation_dropped_run', 'relation_list')",
    )
    .all();
  database.exec('begin');
  for (const { name } of tables) fillTable(database, String(name), rows);
  database.exec(`update sqlite_sequence set seq = seq + ${AHEAD} where seq % 2 = 0`);
  if (kind === 'catalog') fillMeta(database);
  database.exec('commit');
  database.close();
}

function fillTable(database: DatabaseSync, table: string, rows: number): void {
  const columns = listColumns(database, table);
  const insert = database.prepare(
    `insert into "${table}" (${columns.map(({ name }) => `"${name}"`)}) values (${columns.map(() => '?')})`,
  );
  for (let row = 1; row <= rows; row += 1) {
    const toValue = (column: StoredColumn, index: number) =>
      (FIXED[table]?.[column.name] ?? (() => makeValue(column, row, index)))(row);
    insert.run(...columns.map(toValue));
  }
}

function makeValue(column: StoredColumn, row: number, index: number): SQLInputValue {
  const { name, type, key, isRequired } = column;
  const choice = row + index;
  if (key === 0 && isRequired === 0 && choice % 3 === 0) return null;
  if (type === 'integer') return makeInteger(key > 0, row, choice);
  const text = `${TEXTS[choice % TEXTS.length]}${name} ${row}`;
  if (type === 'text') return text;
  // The answer and the upload of a product are text that is stored as bytes.
  if (name === 'former_answer' || name === 'raw') return Buffer.from(text);
  const bytes = BYTES[choice % BYTES.length] ?? new Uint8Array();
  return key > 0 ? Buffer.concat([bytes, Buffer.from([row >> 8, row & 255])]) : bytes;
}

function makeInteger(isKey: boolean, row: number, choice: number): number {
  if (isKey) return row;
  return choice % 4 === 0 ? Number.MAX_SAFE_INTEGER - row : -row;
}

function fillMeta(file: DatabaseSync): void {
  file.exec(`
    update meta set value = value + 7 where typeof(value) <> 'text';
    update meta set value = '{"ü":1}' where name = 'last_task_result';
  `);
}
