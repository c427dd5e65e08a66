// runs: deep, slow
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { compareWithAllowed, type RefusedLoops } from '../support/plans/allowed-loops.ts';
import { readSeen, watching } from '../support/plans/seen-statements.ts';
import { watchSqlite } from '../support/plans/sqlite-plans.ts';

/**
 * Reads the plan of each statement that these test files prepare, in every thread: programs, statements written for
 * files only, and Kysely statements on the control database. SQLite plans by the text of a statement, so a small
 * catalog shows the plan of a large one.
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

const run = promisify(execFile);

async function readStatements(): Promise<RefusedLoops[]> {
  const folder = await mkdtemp(join(tmpdir(), 'relata-statements-'));
  const { NODE_TEST_CONTEXT: _, ...outside } = process.env;
  const env = { ...outside, ...watching(folder), RELATA_TEST_STORE: 'embedded', RELATA_TEST_RUNS: '3' };
  try {
    const paths = FILES.map((file) => `${fileURLToPath(SERVER)}${file}.test.ts`);
    await Promise.all(
      paths.map((path) => run(process.execPath, ['--conditions=relata-source', path], { env })),
    );
    return (await readSeen(folder)).filter((statement) => statement.engine === 'sqlite');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test('no statement on files reads a table or a list again for each row of another one', async () => {
  const statements = await readStatements();
  assert.ok(statements.length > 400, `${statements.length} statements were read`);
  const { refused, unused } = compareWithAllowed('sqlite', statements);
  assert.deepEqual(refused, []);
  assert.deepEqual(unused, [], 'exceptions that no statement needs');
});

/** Each statement reads a list again for each row of another one, except the last. */
const PLANTED: Readonly<Record<string, string>> = {
  'all of (temporary) > all of (virtual)': `select e.value from batch b cross join json_each(b.products) e
    join (select value from json_each(?) group by value) r on r.value = e.value where b.id = ?`,
  'all of (virtual) > all of (temporary)':
    'select a.value from json_each(?) a where (a.value, a.key) not in (select value, key from json_each(?))',
  'all of product > all of (virtual)':
    'select p.id from product p cross join json_each(?) e where e.value = p.id',
  '': 'select p.id from json_each(?) e cross join product p on p.id = e.value',
};

test('the check finds a planted statement that reads a list again for each row of another one', () => {
  const seen: RefusedLoops[] = [];
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
