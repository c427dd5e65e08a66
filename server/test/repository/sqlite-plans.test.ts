// runs: deep, slow
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type SeenStatement, watchSqlite } from '../support/plans/sqlite-plans.ts';

/**
 * Reads the plan of each statement that these test files prepare, in every thread: programs, statements written for files only,
 * and those of Kysely on the control database. SQLite plans by the text of a statement, so a small catalog shows the plan of a large one.
 */

const SERVER = new URL('../../', import.meta.url);
const FILES = [
  ...['src/catalog/store/catalog-store', 'test/catalog/interface-search', 'test/catalog/interface-ontology'],
  ...[
    'test/relations/interface-relations',
    'test/relations/interface-links',
    'test/webhooks/interface-events',
  ],
];

/** Loops that are right, by the beginning of their statement. An exception that no statement needs fails the test. */
const ALLOWED: Readonly<Record<string, string>> = {
  'select b.value from json_each(?) b where (select 1 from relation_entry':
    'the builds of the relations, each up to its first member',
  'select k.key - 0 as at from json_each(cast(? as text)) k where exists':
    'the words of a search, each with at most 5,000 documents',
  'select count(*) as count from (select m.product_id as id from relation_entry m':
    'the members of each run, once',
  'select p.identifier from (select id, row_number() over (order by id) as place from (select m.product_id as id from relation_entry m':
    'the same',
  'select p.identifier from (select m.product_id as id from relation_entry m': 'the same',
  'delete from catalog_count where step_seconds = 3600': 'looks for one later hour, which is the next row',
};

const watch = fileURLToPath(new URL('test/support/plans/watch-statements.ts', SERVER));
const run = promisify(execFile);

async function readStatements(): Promise<SeenStatement[]> {
  const folder = await mkdtemp(join(tmpdir(), 'relata-statements-'));
  const { NODE_TEST_CONTEXT: _, ...outside } = process.env;
  const env = {
    ...outside,
    RELATA_TEST_STORE: 'embedded',
    RELATA_TEST_RUNS: '3',
    RELATA_TEST_STATEMENTS: folder,
  };
  try {
    const args = ['--conditions=relata-source', '--import', watch];
    await Promise.all(
      FILES.map((file) =>
        run(process.execPath, [...args, `${fileURLToPath(SERVER)}${file}.test.ts`], { env }),
      ),
    );
    const names = await readdir(folder);
    const written = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
    return written
      .flatMap((text) => text.split('\n').slice(0, -1))
      .map((line) => JSON.parse(line) as SeenStatement);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test('no statement on files reads a table or a list again for each row of another one', async () => {
  const seen = new Map((await readStatements()).map((statement) => [statement.sql, statement]));
  assert.ok(seen.size > 400, `${seen.size} statements were read`);
  const refused = [...seen.values()].filter((statement) => statement.refused.length > 0);
  const allowing = (sql: string) => Object.keys(ALLOWED).find((begin) => sql.startsWith(begin));
  assert.deepEqual(
    refused.filter(({ sql }) => allowing(sql) === undefined),
    [],
  );
  const used = new Set(refused.map(({ sql }) => allowing(sql)));
  assert.deepEqual(
    Object.keys(ALLOWED).filter((begin) => !used.has(begin)),
    [],
    'exceptions without a use',
  );
});

/** Each reads a list again for each row of another one; the last statement does not. */
const PLANTED: Readonly<Record<string, string>> = {
  'all of (temporary) > all of (virtual)': `select e.value from batch b cross join json_each(b.products) e
    join (select value from json_each(?) group by value) r on r.value = e.value where b.id = ?`,
  'all of (virtual) > all of (temporary)':
    'select a.value from json_each(?) a where (a.value, a.key) not in (select value, key from json_each(?))',
  'all of product > all of (virtual)':
    'select p.id from product p cross join json_each(?) e where e.value = p.id',
  '': 'select p.id from json_each(?) e cross join product p on p.id = e.value',
};

test('a statement that reads a list again for each row of another one is found where it is planted', () => {
  const seen: SeenStatement[] = [];
  const stop = watchSqlite((statement) => seen.push(statement));
  using database = new DatabaseSync(':memory:');
  database.exec(`create table product (id integer primary key);
    create table batch (id text primary key, products text) without rowid`);
  for (const statement of Object.values(PLANTED)) database.prepare(statement);
  stop();
  assert.deepEqual(
    seen.map(({ refused }) => refused.join()),
    Object.keys(PLANTED),
  );
});
