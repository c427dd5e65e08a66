// runs: test (not on postgres: what SQLite syncs; PostgreSQL does it by a setting of the transaction)
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { rows, run, sql } from '../programs/programs.ts';
import { CatalogFile } from './catalog-file.ts';

test('SQLite syncs each transaction except repeatable ones', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-'));
  const file = new CatalogFile(join(folder, '1.db'));
  t.after(() => {
    file.database.close();
    rmSync(folder, { recursive: true });
  });
  const readLevel = () => file.database.prepare('pragma synchronous').get()?.synchronous;
  const [normal, full] = [1, 2];
  assert.equal(file.repeatable(readLevel), normal);
  const fail = () => {
    throw new Error('a constraint');
  };
  assert.throws(() => file.repeatable(fail), /a constraint/);
  assert.equal(file.transaction(readLevel), full);
});

test('a statement succeeds after one that leaves a last row id beyond 2^53', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-'));
  const file = new CatalogFile(join(folder, '1.db'));
  t.after(() => {
    file.database.close();
    rmSync(folder, { recursive: true });
  });
  file.database.exec('create table far (id integer primary key, name text)');
  file.database.exec('insert into far (id) values (9007474132647941)');
  file.prepare("update far set name = 'A'").run();
  assert.equal(file.perform(run(sql`update far set name = 'B'`)), 1);
  assert.deepEqual(file.perform(rows(sql`select name from far`)), [{ __proto__: null, name: 'B' }]);
  // Statements that only set PostgreSQL's planner are an empty select on this engine.
  file.perform(run(sql`select 1 where false`));
});
