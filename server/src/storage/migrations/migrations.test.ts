// runs: test (not on postgres: the versions of files; postgres-schema.test.ts has those of PostgreSQL)
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { type DatabaseKind, migrate, readMigrations } from './migrations.ts';

const versionOf = (database: DatabaseSync) =>
  Number(database.prepare('pragma user_version').get()?.user_version);
const describe = (database: DatabaseSync) =>
  database.prepare('select type, name, sql from sqlite_schema order by name').all();

for (const kind of ['control', 'catalog'] satisfies DatabaseKind[]) {
  const files = readdirSync(new URL(`../../../migrations/${kind}/`, import.meta.url));

  test(`the migrations of ${kind} are numbered without a gap`, () => {
    const numbers = files.map((name) => Number(/^(\d{4})-[a-z0-9-]+\.sql$/.exec(name)?.[1]));
    assert.deepEqual(
      numbers.toSorted((a, b) => a - b),
      files.map((_, index) => index + 1),
    );
  });

  test(`migrating an empty ${kind} database creates the newest schema, and repeating it changes nothing`, () => {
    const database = new DatabaseSync(':memory:');
    migrate(database, kind);
    assert.equal(versionOf(database), files.length);
    const schema = describe(database);
    assert.ok(schema.length > 0);
    migrate(database, kind);
    assert.deepEqual(describe(database), schema);
    assert.equal(database.isTransaction, false);
  });

  test(`migrate refuses a ${kind} database of a newer program and leaves it unchanged`, () => {
    const database = new DatabaseSync(':memory:');
    migrate(database, kind);
    database.exec('pragma user_version = 9000');
    const schema = describe(database);
    assert.throws(() => migrate(database, kind), /schema 9000, this program knows \d+/);
    assert.deepEqual([describe(database), versionOf(database)], [schema, 9000]);
    assert.equal(database.isTransaction, false);
  });

  test(`a failed ${kind} migration leaves the database unchanged`, () => {
    const database = new DatabaseSync(':memory:');
    const conflict = kind === 'control' ? 'task' : 'document';
    database.exec(`create table ${conflict} (somebody text)`);
    const schema = describe(database);
    assert.throws(() => migrate(database, kind), /already exists/);
    assert.deepEqual([describe(database), versionOf(database)], [schema, 0]);
    assert.equal(database.isTransaction, false);
  });
}

test('migrations are numbered from 1 without a gap, because a store would skip one of two with the same number', () => {
  for (const kind of ['catalog', 'control', 'postgres'] as const) {
    const versions = readMigrations(kind).map(({ version }) => version);
    assert.deepEqual(
      versions,
      versions.map((_, index) => index + 1),
      kind,
    );
  }
});
