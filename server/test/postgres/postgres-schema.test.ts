// runs: postgres test
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { type DatabaseKind, migrate } from '../../src/storage/migrations/migrations.ts';
import { migratePostgres, openPostgres } from '../../src/storage/postgres/postgres.ts';
import { query } from '../support/postgres/postgres-server.ts';
import { createDatabase, type TestDatabase } from '../support/postgres/test-database.ts';
import { findServer } from '../support/test-store.ts';

/**
 * The schema that the migrations make in PostgreSQL: the rows of a project are stored together (docs/decisions/0011),
 * and it has every table and column of the embedded store.
 */

let database: TestDatabase;
before(async () => {
  database = await createDatabase(await findServer());
});
after(() => database.drop());

/** Their keys do not begin with project_id, because they are read across projects or belong to none. */
const GLOBAL_TABLES: Readonly<Record<string, string>> = {
  service: 'one row: the version of the schema',
  account: 'an owner of shops, above all projects',
  project_group: 'a group of shops, above its projects',
  project: 'a row for each project; at most 10,000 are planned for',
  api_key: 'found by its hash before anything is known of a project; a few for each project',
  console_user: 'people, some for each account',
  console_session: 'found by its hash; a few for each user',
  owner_link: 'found by its hash; an hour old at most',
  passkey: 'found by its user; at most 10 for each',
  passkey_challenge: 'found by its hash; 5 minutes old at most',
  invitation: 'found by its hash; a week old at most',
  password_window: 'whose attempts with a password are counted; an hour old at most',
  webhook_endpoint: 'of an account; at most 100 for each',
  webhook_message: 'sent to endpoints of any scope, a week old at most',
  webhook_delivery: 'of an endpoint: what is pending, and 1,000 that ended',
  webhook_queue: 'of an endpoint: its projects with pending deliveries',
  upload_process: 'a row for each process',
  rate_window: 'a row for each key that has a limit and was used within the last minute',
  idempotent_answer: 'belongs to a key, which may reach many projects; a day old at most',
  request_count: 'a row for each key that is in use: of the minutes of two days and the hours of 90',
  noted_request: 'requests that failed or were slow, of a week; a few hundred a minute at the worst',
  audit_log:
    'of an account, also what concerns no project; a line for each change of keys, settings and definitions and each deletion',
};

interface Uniqueness {
  readonly table: string;
  /** null: the table has no key. */
  readonly index: string | null;
  readonly isPrimary: boolean;
  /** null: an expression */
  readonly firstColumn: string | null;
}

/** Primary keys and other unique indexes of every table. */
const UNIQUENESS = `
  select relation.relname as table, index.relname as index, coalesce(indisprimary, false) as "isPrimary",
    attname as "firstColumn"
  from pg_class relation
  left join pg_index on indrelid = relation.oid and indisunique
  left join pg_class index on index.oid = indexrelid
  left join pg_attribute on attrelid = relation.oid and attnum = indkey[0]
  where relation.relnamespace = 'public'::regnamespace and relation.relkind in ('r', 'p')
  order by 1, 2`;

/** @returns a sentence for each key that does not keep a project's rows together */
async function listViolations(): Promise<string[]> {
  const indexes = await query<Uniqueness & Record<string, unknown>>(database.url, UNIQUENESS);
  const keyed = new Set(indexes.filter(({ isPrimary }) => isPrimary).map(({ table }) => table));
  const tables = new Set(indexes.map(({ table }) => table));
  return [
    ...[...tables].filter((table) => !keyed.has(table)).map((table) => `${table} has no primary key`),
    ...indexes
      .filter(({ table, index }) => index !== null && !(table in GLOBAL_TABLES))
      .filter(({ firstColumn }) => firstColumn !== 'project_id')
      .map(({ table, index }) => `${index} of ${table} does not begin with project_id`),
  ];
}

test('the keys of every table begin with project_id, or the table is global and small', async () => {
  assert.deepEqual(await listViolations(), []);
  const rows = await query<{ name: string }>(
    database.url,
    "select tablename as name from pg_tables where schemaname = 'public'",
  );
  const present = rows.map(({ name }) => name);
  assert.deepEqual(
    Object.keys(GLOBAL_TABLES).filter((name) => !present.includes(name)),
    [],
    'every table that is listed as global exists',
  );
});

const PLANTED = [
  {
    table: '(id bigint primary key, project_id bigint)',
    found: 'planted_pkey of planted does not begin with',
  },
  {
    table: '(project_id bigint, id bigint unique, primary key (project_id, id))',
    found: 'planted_id_key of planted does not begin with',
  },
  {
    table: '(project_id bigint, name text, primary key (project_id, name))',
    also: 'create unique index planted_by_name on planted (lower(name))',
    found: 'planted_by_name of planted does not begin with',
  },
  { table: '(project_id bigint, id bigint)', found: 'planted has no primary key' },
];
for (const { table, also = '', found } of PLANTED) {
  test(`the check finds a table that does not keep the rows of a project together: ${also || table}`, async (t) => {
    t.after(async () => void (await query(database.url, 'drop table planted')));
    await query(database.url, `create table planted ${table}; ${also}`);
    const [violation, ...others] = await listViolations();
    assert.ok(violation?.startsWith(found), `${violation}`);
    assert.deepEqual(others, []);
  });
}

interface Column {
  /** As PostgreSQL names it. */
  readonly type: string;
  readonly isRequired: boolean;
}

/** Column descriptions by `table.column`. */
type Columns = ReadonlyMap<string, Column>;

const TYPES: Readonly<Record<string, string>> = {
  INTEGER: 'bigint',
  TEXT: 'text',
  BLOB: 'bytea',
  // Members of relations are bytes, but tests of their order use numbers.
  '': 'bytea',
};

function readEmbedded(kind: DatabaseKind): Columns {
  const file = new DatabaseSync(':memory:');
  migrate(file, kind);
  const rows = file
    .prepare(
      `select t.name as "table", c.name, c.type, c."notnull" or c.pk > 0 as isRequired
       from pragma_table_list t, pragma_table_info(t.name) c where t.schema = 'main' and t.name not like 'sqlite_%'`,
    )
    .all() as { table: string; name: string; type: string; isRequired: number }[];
  file.close();
  return new Map(
    rows.map(({ table, name, type, isRequired }) => [
      `${table}.${name}`,
      { type: TYPES[type.toUpperCase()] ?? type, isRequired: isRequired === 1 },
    ]),
  );
}

async function readPostgres(): Promise<Columns> {
  const rows = await query<{ table: string; name: string; type: string; isRequired: boolean }>(
    database.url,
    `select table_name as table, column_name as name, data_type as type, is_nullable = 'NO' as "isRequired"
     from information_schema.columns where table_schema = 'public'`,
  );
  return new Map(rows.map(({ table, name, type, isRequired }) => [`${table}.${name}`, { type, isRequired }]));
}

/** Tables and columns that only PostgreSQL has, with the reasons. */
const ONLY_POSTGRES: readonly { readonly names: RegExp; readonly why: string }[] = [
  { names: /^catalog\./, why: 'the rows of a catalog file’s `meta`' },
  { names: /^payload\./, why: 'files in the data folder' },
  { names: /^rate_window\./, why: 'in the memory of the one process' },
  {
    names: /^upload_process\.(?:schema_version|place|takes_batches)$/,
    why: 'an embedded store has one process',
  },
  {
    names: /^search_(?:document|walk|entry|progress|word)\./,
    why: 'a catalog file makes its own at the first search',
  },
  { names: /^service\./, why: '`user_version` of each file, and no other process to hear of' },
];

/**
 * Only in files: lists of members in runs, where PostgreSQL has one row per member (docs/decisions/0035), and the
 * identity that names the owner of a catalog file.
 */
const ONLY_EMBEDDED =
  /^relation_(?:run|dropped_run|list|entry)\.|^relation_member\.(?:run|least|most|others)$|^installation\./;

/** Columns with different types. */
const OTHER_TYPES: Readonly<Record<string, { readonly type: string; readonly why: string }>> = {
  'task.progress': { type: 'double precision', why: 'SQLite keeps a fraction in an integer column as it is' },
  'document.raw': { type: 'text', why: 'UTF-8 either way; bytea would be sent as twice as many digits' },
  'document.former_answer': { type: 'text', why: 'as the upload' },
};

test('PostgreSQL has exactly the tables and columns of the embedded store, with matching types', async () => {
  const [control, catalog] = [readEmbedded('control'), readEmbedded('catalog')];
  const catalogTables = new Set([...catalog.keys()].map((name) => name.split('.')[0]));
  const expected = new Map([...control, ...catalog].filter(([name]) => !name.startsWith('meta.')));
  for (const table of catalogTables) {
    if (table !== 'meta') expected.set(`${table}.project_id`, { type: 'bigint', isRequired: true });
  }
  const actual = await readPostgres();
  const common = [...expected].filter(([name]) => !ONLY_EMBEDDED.test(name));
  assert.ok(common.length < expected.size);
  const differences = common.flatMap(([name, column]) => {
    const actualColumn = actual.get(name);
    if (actualColumn === undefined) return `${name} is missing`;
    const wanted = { ...column, type: OTHER_TYPES[name]?.type ?? column.type };
    if (actualColumn.type !== wanted.type) return `${name} is ${actualColumn.type} and not ${wanted.type}`;
    return actualColumn.isRequired === wanted.isRequired ? [] : `${name} may be null in one of them alone`;
  });
  const surplus = [...actual.keys()].filter(
    (name) => !expected.has(name) && !ONLY_POSTGRES.some(({ names }) => names.test(name)),
  );
  assert.deepEqual([...differences, ...surplus.map((name) => `${name} is in PostgreSQL alone`)], []);
  for (const { names } of ONLY_POSTGRES)
    assert.ok(
      [...actual.keys()].some((name) => names.test(name)),
      `${names}`,
    );
  for (const name of Object.keys(OTHER_TYPES)) assert.ok(expected.has(name), name);
});

test('every value of `meta` in a catalog file has a column in PostgreSQL with the same initial value', async () => {
  const file = new DatabaseSync(':memory:');
  migrate(file, 'catalog');
  const rows = file.prepare('select name, value from meta').all() as { name: string; value: unknown }[];
  file.close();
  await query(database.url, 'insert into catalog (project_id) values (1)');
  const [first = {}] = await query(database.url, 'select * from catalog');
  assert.deepEqual(
    rows.map(({ name }) => [name, String(first[name])]),
    rows.map(({ name, value }) => [name, String(value)]),
  );
});

/** @returns the storage of uploads: compression, storage type, and the row size from which it applies */
async function readUploadStorage() {
  const [row] = await query<Record<string, unknown>>(
    database.url,
    `select attcompression::text as compression, attstorage::text as storage, reloptions as options
     from pg_attribute join pg_class c on c.oid = attrelid where attrelid = 'document'::regclass and attname = 'raw'`,
  );
  return row;
}

test('uploads are compressed if the server has lz4, even after the database was moved', async () => {
  const [server] = await query<{ hasLz4: boolean }>(
    database.url,
    `select 'lz4' = any(enumvals) as "hasLz4" from pg_settings where name = 'default_toast_compression'`,
  );
  const expected = server?.hasLz4
    ? { compression: 'l', storage: 'm', options: null }
    : { compression: '', storage: 'e', options: ['toast_tuple_target=8160'] };
  assert.deepEqual(await readUploadStorage(), expected);
  for (const storage of ['external', 'main']) {
    await query(
      database.url,
      `alter table document alter column raw set storage ${storage}, alter column raw set compression default`,
    );
    const postgres = openPostgres({ url: database.url, connections: 1, prepares: false });
    await migratePostgres(postgres).finally(() => postgres.close());
    assert.deepEqual(await readUploadStorage(), expected, `after ${storage}`);
  }
});
