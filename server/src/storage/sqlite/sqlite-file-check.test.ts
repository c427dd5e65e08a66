// runs: test
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkSqliteFile } from './file-check.ts';
import { CatalogFile } from './sqlite.ts';

const ROWS = 2_000;

/** Makes a closed catalog file with some hundred pages in a table and its index. */
function makeCatalog(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'relata-check-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, '1.db');
  const { database } = new CatalogFile(path);
  database.exec(`create table filled (id integer primary key, text text not null);
    insert into filled with recursive row (id) as (select 1 union all select id + 1 from row where id < ${ROWS})
      select id, hex(randomblob(500)) from row;
    create index filled_text on filled (text)`);
  database.close();
  return path;
}

/** Overwrites the middle of a file, like a disk that returns wrong bytes. */
function addNoise(path: string, bytes: number): void {
  const whole = readFileSync(path);
  whole.fill(0xa5, Math.floor(whole.length / 2), Math.floor(whole.length / 2) + bytes);
  writeFileSync(path, whole);
}

const LIMITS = [undefined, 600_000];

for (const limitMs of LIMITS) {
  const how = limitMs === undefined ? 'as a whole' : 'table by table';
  test(`checking an undamaged file ${how} finds no problem, also during a write`, (t) => {
    const path = makeCatalog(t);
    assert.deepEqual(checkSqliteFile(path, limitMs), { problems: [], isComplete: true });
    const { database } = new CatalogFile(path);
    t.after(() => database.close());
    database.exec('begin immediate; delete from filled where id < 10');
    assert.deepEqual(checkSqliteFile(path, limitMs), { problems: [], isComplete: true });
  });

  test(`checking a file ${how} detects that it is truncated, overwritten, empty or missing`, (t) => {
    const damages: [(path: string) => void, RegExp][] = [
      [(path) => truncateSync(path, 100_000), /malformed|invalid page|out of range/],
      [(path) => addNoise(path, 80_000), /malformed|page/i],
      [(path) => writeFileSync(path, 'no database of SQLite at all'.repeat(1_000)), /not a database/],
      [(path) => truncateSync(path, 0), /^it is empty$/],
      [(path) => rmSync(path), /^it is missing$/],
    ];
    for (const [damage, expected] of damages) {
      const path = makeCatalog(t);
      damage(path);
      const { problems } = checkSqliteFile(path, limitMs);
      assert.ok(problems.length > 0, `${expected}`);
      assert.match(problems.join('\n'), expected);
      assert.ok(problems.length <= 10, 'the list of problems is bounded');
    }
  });
}

test('a check that reaches its time limit reports that it is incomplete', (t) => {
  assert.deepEqual(checkSqliteFile(makeCatalog(t), 0), { problems: [], isComplete: false });
});
