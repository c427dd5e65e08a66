// runs: postgres deep, slow

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { query } from '../../test/support/postgres/postgres-server.ts';
import { createDatabase } from '../../test/support/postgres/test-database.ts';
import { fillDataFolder, readStoredRows } from '../../test/support/stored-rows.ts';
import { findServer } from '../../test/support/test-store.ts';
import { lockDataFolder } from '../storage/folder/folder.ts';
import { openPostgres } from '../storage/postgres/open-postgres.ts';
import { performNow, performOn, SERVICE } from '../storage/programs/programs.ts';
import { programSessionOf } from '../storage/sqlite/sqlite.ts';
import { MOVE_PROGRESS, refuseUnfinishedMove } from '../storage/storage.ts';
import { type MoveOptions, moveStore } from './move.ts';
import type { MoveProgress } from './move-meter.ts';
import { describeMove } from './move-tables.ts';

/** `relata migrate-store` moves a store between its two engines (docs/operating/postgresql.md). Each test uses both. */

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'relata-move-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function makeDatabase(t: TestContext, options: { isEmpty?: boolean } = {}): Promise<string> {
  const database = await createDatabase(await findServer(), options);
  t.after(() => database.drop());
  return database.url;
}

/** @returns a filled data folder, an empty database and a folder for the move back */
async function makePlaces(t: TestContext, catalogs: readonly number[]) {
  const folder = await makeFolder(t);
  const data = join(folder, 'data');
  fillDataFolder(data, catalogs);
  return { data, url: await makeDatabase(t, { isEmpty: true }), back: join(folder, 'back') };
}

/** Tables of PostgreSQL that a move does not copy, each with the reason. */
const NOT_MOVED: ReadonlyMap<string, string> = new Map([
  ['service', 'the version of the schema and the heartbeat of running processes'],
  ['rate_window', 'counts of the last minute'],
  ['search_entry', 'the index of search, which the next search builds'],
  ['search_progress', 'the progress of that index'],
  ['search_document', 'the index of programs of schema 24'],
  ['search_walk', 'the progress of that index'],
  ['search_word', 'the words of the index of search'],
  ['payload', 'bodies, which are files in the embedded store'],
  [MOVE_PROGRESS, 'the progress of the move itself'],
]);

test('the two engines have the same tables and columns, except those in NOT_MOVED', async (t) => {
  const postgres = openPostgres({ url: await makeDatabase(t), connections: 1, prepares: false });
  try {
    const tables = await describeMove(postgres);
    assert.ok(tables.length > 20);
    const present = await postgres.rows<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'public'",
    );
    const names = present.map(({ name }) => name);
    const coveredTables = new Set([...tables.map(({ name }) => name), ...NOT_MOVED.keys()]);
    const unknown = names.filter((name) => !coveredTables.has(name));
    assert.deepEqual(unknown, [], 'a table that a move does not copy is in NOT_MOVED');
    const absent = [...NOT_MOVED.keys()].filter((name) => name !== MOVE_PROGRESS && !names.includes(name));
    assert.deepEqual(absent, [], 'every table in NOT_MOVED exists');
  } finally {
    await postgres.close();
  }
});

test('a move to PostgreSQL and back keeps every row, body and next number', async (t) => {
  const { data, url, back } = await makePlaces(t, [6_000, 0, 70]);
  const expectedRows = readStoredRows(data);
  const moved = await moveStore({ from: data, to: url });
  assert.deepEqual(moved.differences, []);
  assert.equal(moved.catalogs, 3, 'an empty catalog counts as well');
  assert.equal(moved.payloads, 4, 'a body without an owner is not moved');

  const [next] = await query(url, "select nextval(pg_get_serial_sequence('task', 'number')) as number");
  assert.equal(Number(next?.number), 1_025, '24 tasks, and 1,000 that were deleted');
  const [catalog] = await query(url, 'select * from catalog where project_id = 1');
  assert.equal(Number(catalog?.next_document_id), 7_001);
  assert.equal(Number(catalog?.next_category_id), 6_001);
  assert.equal(Number(catalog?.catalog_version), 7);
  await query(url, "select setval(pg_get_serial_sequence('task', 'number'), 1024)");

  const again = await moveStore({ from: url, to: back });
  assert.deepEqual(again, moved);
  assert.deepEqual(readStoredRows(back), expectedRows);
  assert.deepEqual((await readdir(join(back, 'payloads'))).sort(), [
    'batch-1.body',
    'batch-2.body',
    'channel.body',
    'task.body',
  ]);
  assert.deepEqual(await query(url, 'select to_regclass($1) as name', [MOVE_PROGRESS]), [{ name: null }]);
});

test('a move copies long values in bounded pages', async (t) => {
  const { data, url, back } = await makePlaces(t, [0]);
  const file = new DatabaseSync(join(data, 'catalogs', '1.db'));
  const insert = file.prepare('insert into document (product_id, former_answer, raw) values (?, ?, ?)');
  for (let index = 0; index < 12; index += 1)
    insert.run(index, Buffer.alloc(3_000_000, 'é'), Buffer.from(`${index}`));
  file.close();
  const expectedRows = readStoredRows(data);
  const steps: number[] = [];
  const onProgress = ({ phase, subject, rows }: MoveProgress) => {
    if (phase === 'copying' && subject === 'project 1, document') steps.push(rows);
  };
  await moveStore({ from: data, to: url, onProgress });
  await moveStore({ from: url, to: back, onProgress });
  const pages = steps.slice(1).map((rows, index) => rows - (steps[index] ?? 0));
  assert.ok(Math.max(...pages) <= 2, `a page has at most two of these rows: ${pages}`);
  assert.deepEqual(readStoredRows(back), expectedRows);
});

test('a move to PostgreSQL converts runs of members into rows, and a move back keeps the rows', async (t) => {
  const { data, url, back } = await makePlaces(t, [0]);
  const file = new DatabaseSync(join(data, 'catalogs', '1.db'));
  file.exec(`insert into relation_run (id, members) values (7, '["aa","01",1,11,"g"]
["bb","02",2,12,"",null,"cc"]');
    insert into relation_member (build_id, side, match_key, rank, product_id, document_id, group_identifier, c1, run) values
      (1, 1, x'99', x'01', 1, 11, '', null, 7), (1, 1, x'99', x'', 3, 13, 'h', x'dd', null);
    insert into relation_list (build_id, side, match_key, changed) values (1, 1, x'99', 2)`);
  file.close();
  await moveStore({ from: data, to: url });
  const columns = `build_id as build, encode(match_key, 'hex') as key, encode(rank, 'hex') as rank, product_id as product,
    document_id as document, group_identifier as "group", encode(c1, 'hex') as c1, encode(c3, 'hex') as c3`;
  const rows = await query(url, `select ${columns} from relation_member order by product_id`);
  assert.deepEqual(
    rows.map((row) => Object.values(row).join()),
    ['1,99,01,1,11,g,aa,', '1,99,02,2,12,,bb,cc', '1,99,,3,13,h,dd,'],
  );
  await moveStore({ from: url, to: back });
  const moved = new DatabaseSync(join(back, 'catalogs', '1.db'));
  const counted = moved.prepare('select count(*) as members, count(run) as runs from relation_member').get();
  moved.close();
  assert.deepEqual({ ...counted }, { members: 3, runs: 0 });
});

/** Moves in another process, which kills itself shortly after step number `step`, in the middle of the next one. */
async function moveKilled(options: MoveOptions, step: number): Promise<boolean> {
  const script = `
    import { moveStore } from ${JSON.stringify(new URL('./move.ts', import.meta.url).href)};
    const { step, ...options } = JSON.parse(process.env.MOVE);
    let steps = 0;
    const onProgress = () => {
      steps += 1;
      if (steps === step) setImmediate(() => process.kill(process.pid, 'SIGKILL'));
    };
    await moveStore({ ...options, onProgress });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, MOVE: JSON.stringify({ ...options, step }) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code, signal] = await once(child, 'exit');
  assert.ok(code === 0 || signal === 'SIGKILL', `it ended with ${code} ${signal}`);
  return signal === 'SIGKILL';
}

/** Kills each run of the move a little later than the run before. @returns the number of kills */
async function moveWithKills(options: MoveOptions): Promise<number> {
  let kills = 0;
  while (await moveKilled(options, 2 + kills * 89)) kills += 1;
  return kills;
}

test('a move that was killed resumes where it stopped, in both directions', async (t) => {
  const { data, url, back } = await makePlaces(t, [7_000, 30]);
  const expectedRows = readStoredRows(data);
  assert.ok((await moveWithKills({ from: data, to: url })) >= 4);
  assert.ok((await moveWithKills({ from: url, to: back })) >= 4);
  assert.deepEqual(readStoredRows(back), expectedRows);
});

test('a repeated move after the end compares the stores again and succeeds', async (t) => {
  const { data, url } = await makePlaces(t, [10]);
  const first = await moveStore({ from: data, to: url });
  assert.deepEqual(await moveStore({ from: data, to: url }), first);
  await query(url, "select setval(pg_get_serial_sequence('task', 'number'), 1030)");
  await assert.rejects(
    moveStore({ from: data, to: url }),
    /is not empty \(task: the last assigned number is 1024, not 1030\): name an empty target/,
  );
});

/** Stops a move after everything is copied and before the comparison. */
async function moveUntilCompared(options: MoveOptions): Promise<void> {
  const onProgress = ({ phase }: MoveProgress) => {
    if (phase === 'comparing') throw new Error('the power is cut');
  };
  await assert.rejects(moveStore({ ...options, onProgress }), /the power is cut/);
}

const damages = [
  {
    what: 'a changed value',
    sql: 'update product set updated_by = updated_by + 1 where project_id = 2 and id = 5',
    expected: /^project 2, product: the 60 rows differ$/,
  },
  {
    what: 'a missing row',
    sql: 'delete from undo_log where project_id = 1 and id = 3',
    expected: /^project 1, undo_log: 60 rows in .*data, 59 in postgres:/,
  },
  {
    what: 'a row of another project',
    sql: 'insert into undo_log values (9, 1, 1, 1)',
    expected: /^project 9, undo_log: 1 rows in postgres.* does not have$/,
  },
  {
    what: 'two exchanged values',
    sql: `update category set path = (select path from category other where other.project_id = 1 and other.id = 3 - category.id)
          where project_id = 1 and id in (1, 2)`,
    expected: /^project 1, category: the 60 rows differ$/,
  },
  {
    what: 'a changed counter of a catalog',
    sql: 'update catalog set next_document_id = 5 where project_id = 1',
    expected: /^project 1, catalog: the 1 rows differ$/,
  },
  {
    what: 'a changed body',
    sql: "update payload set bytes = (select bytes from payload where name = 'batch-1.body') where name = 'task.body'",
    expected: /the body task.body of an open task is missing or differs$/,
  },
];
for (const { what, sql, expected } of damages) {
  test(`the comparison finds ${what}, and such a target is not served`, async (t) => {
    const { data, url } = await makePlaces(t, [60, 60]);
    await moveUntilCompared({ from: data, to: url });
    await query(url, sql);
    const { differences } = await moveStore({ from: data, to: url });
    assert.match(differences[0] ?? '', expected);
    assert.equal(differences.length, 1, `${differences}`);
    const postgres = openPostgres({ url, connections: 1, prepares: false });
    const refused = performOn(postgres, SERVICE, refuseUnfinishedMove('The database'));
    const served = refused.finally(() => postgres.close());
    await assert.rejects(served, /run relata migrate-store again until it has ended/);
  });
}

test('a move refuses to resume if the source was changed between two runs', async (t) => {
  const { data, url } = await makePlaces(t, [60]);
  await moveUntilCompared({ from: data, to: url });
  const control = new DatabaseSync(join(data, 'control.db'));
  control.exec('update account set created_at = created_at where id = 1; delete from audit_log where id = 5');
  control.close();
  await assert.rejects(
    moveStore({ from: data, to: url }),
    /data was changed since the move began \(audit_log\)/,
  );
});

test('the target data folder of a move is not served until the move has ended', async (t) => {
  const { data, url, back } = await makePlaces(t, [5]);
  await moveStore({ from: data, to: url });
  await moveUntilCompared({ from: url, to: back });
  const refused = () => {
    const control = new DatabaseSync(join(back, 'control.db'));
    try {
      performNow(refuseUnfinishedMove('The data directory'), programSessionOf(control));
    } finally {
      control.close();
    }
  };
  assert.throws(refused, /The data directory holds a part of a store .*migrate-store again/);
  await assert.rejects(moveStore({ from: back, to: url }), /back holds a part of a store/);
  await moveStore({ from: url, to: back });
  refused();
});

const refusals: {
  case: string;
  prepare: (
    places: { data: string; url: string; back: string },
    t: TestContext,
  ) => Promise<Partial<MoveOptions>>;
  expected: RegExp;
}[] = [
  {
    case: 'a data folder that is served',
    async prepare({ data }, t) {
      const lock = lockDataFolder(data);
      t.after(() => lock.close());
      return {};
    },
    expected: /Another server uses the data folder/,
  },
  {
    case: 'a folder without a store',
    prepare: async ({ back }) => ({ from: back }),
    expected: /back is not a data directory: it has no control.db/,
  },
  {
    case: 'a database without a store',
    prepare: async ({ url, back }) => ({ from: url, to: back }),
    expected: /has no store to move/,
  },
  {
    case: 'two data folders',
    prepare: async ({ back }) => ({ to: back }),
    expected: /needs a data directory and a postgres:.* URL, in either order/,
  },
  {
    case: 'a database that is not empty',
    async prepare({ data, url }) {
      await moveStore({ from: data, to: url });
      await query(url, "update account set name = 'somebody else' where id = 1");
      return {};
    },
    expected: /is not empty \(account: 24 rows\): name an empty target/,
  },
  {
    case: 'the target of another move',
    async prepare({ data, url }, t) {
      const other = join(await makeFolder(t), 'other');
      fillDataFolder(other, [1]);
      const control = new DatabaseSync(join(other, 'control.db'));
      control.exec("update account set name = 'another store' where id = 1");
      control.close();
      await moveUntilCompared({ from: data, to: url });
      return { from: other };
    },
    expected: /is the target of another move/,
  },
  {
    case: 'a folder that is not empty',
    async prepare({ data, url, back }) {
      await moveStore({ from: data, to: url });
      await mkdir(back);
      await writeFile(join(back, 'letters.txt'), 'dear');
      return { from: url, to: back };
    },
    expected: /back is not empty: letters.txt/,
  },
  {
    case: 'a database that a process uses',
    async prepare({ url }, t) {
      const postgres = openPostgres({ url, connections: 1, prepares: false });
      t.after(() => postgres.close());
      await postgres.rows('select 1');
      return {};
    },
    expected: /is served: stop every process that uses it/,
  },
];
for (const { case: name, prepare, expected } of refusals) {
  test(`a move refuses ${name}`, async (t) => {
    const places = await makePlaces(t, [2]);
    const options = { from: places.data, to: places.url, ...(await prepare(places, t)) };
    await assert.rejects(moveStore(options), expected);
  });
}

test('a forced move does not wait for the lease of a killed process', async (t) => {
  const { data, url, back } = await makePlaces(t, [2]);
  await moveStore({ from: data, to: url });
  const soon = '(extract(epoch from clock_timestamp()) * 1000)::bigint + 9000';
  await query(url, `update task set lease_until = ${soon} where status = 'RUNNING'`);
  await assert.rejects(moveStore({ from: url, to: back }), /is served/);
  assert.deepEqual((await moveStore({ from: url, to: back, isForced: true })).differences, []);
});

test('neither the progress nor an error of a move contains the password', async (t) => {
  const { data, url } = await makePlaces(t, [2]);
  const secret = new URL(url);
  secret.password = 'topsecret';
  const subjects: string[] = [];
  await moveStore({ from: data, to: secret.href, onProgress: ({ subject }) => subjects.push(subject) });
  await query(url, 'delete from task_log');
  const again = moveStore({
    from: data,
    to: secret.href,
    onProgress: ({ subject }) => subjects.push(subject),
  });
  await assert.rejects(again, (error: Error) => !error.message.includes('topsecret'));
  assert.ok(!subjects.join().includes('topsecret'));
});
