// runs: test (not on postgres: PostgreSQL is backed up with its own tools)
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Entry } from '../target/target.ts';
import { WatchedFile } from './watched-file.ts';

const MIB = 1024 * 1024;
/** The size of all transactions. Logs are written back from 64 MiB on, so the log starts over at least 3 times. */
const WRITTEN_MIB = 400;
const EACH_MIB = 4;

/**
 * Writes like a thread of the service: without its own checkpoints, and idle until the next batch. The next batch comes
 * after the next look at the log. On a busy machine, a writer without pauses would be hundreds of MiB ahead of any
 * sender.
 */
const WRITER = `
  const { workerData: { path, count, bytes, rounds } } = require('node:worker_threads');
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(path, { timeout: 10_000 });
  database.exec('pragma wal_autocheckpoint = 0; pragma synchronous = off');
  const insert = database.prepare('insert into block values (?, zeroblob(?))');
  const change = database.prepare('update block set bytes = randomblob(100) where id = ?');
  for (let id = 1; id <= count; id += 1) {
    const round = Atomics.load(rounds, 0);
    database.exec('begin immediate');
    insert.run(id, bytes);
    change.run(Math.floor(id / 2));
    database.exec('commit');
    Atomics.wait(rounds, 0, round, 1_000);
  }
  database.close();
`;

/** The sent bytes of a file, in the order of its segments. */
class Copy {
  readonly bytes = Buffer.alloc((WRITTEN_MIB + 50) * MIB);
  length = 0;
  begun = 0;

  apply({ head, bytes }: Entry): void {
    if (head.kind === 'begin') this.begun += 1;
    else if (head.kind === 'end') this.length = head.pageCount * head.pageSize;
    else if (head.kind === 'pages')
      for (const [index, page] of head.pages.entries())
        this.bytes.set(
          bytes.subarray(index * head.pageSize, (index + 1) * head.pageSize),
          (page - 1) * head.pageSize,
        );
  }
}

async function send(file: WatchedFile, copy: Copy): Promise<string | undefined> {
  const change = file.findChange();
  if (change === undefined) return undefined;
  for await (const entry of file.readChange(change, { isBase: false, isAfresh: false })) copy.apply(entry);
  file.noteSent(change);
  return change.end?.salts;
}

function createFile(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'relata-watched-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, '1.db');
  const database = new DatabaseSync(path);
  database.exec('pragma page_size = 16384; pragma journal_mode = wal; pragma wal_autocheckpoint = 0');
  database.exec('create table block (id integer primary key, bytes blob)');
  const file = new WatchedFile('catalogs/1.db', path, undefined);
  const copy = new Copy();
  const compare = () => {
    file.release();
    database.close();
    assert.equal(copy.begun, 1, 'the whole file is sent only the first time');
    assert.equal(Buffer.compare(readFileSync(path), copy.bytes.subarray(0, copy.length)), 0);
  };
  return { path, database, file, copy, compare };
}

test('a log that is written back while another thread writes stays short, and each of its pages is sent', async (t) => {
  const { path, file, copy, compare } = createFile(t);
  const count = WRITTEN_MIB / EACH_MIB;
  const rounds = new Int32Array(new SharedArrayBuffer(4));
  const writer = new Worker(WRITER, {
    eval: true,
    workerData: { path, count, rounds, bytes: EACH_MIB * MIB },
  });
  const ended = once(writer, 'exit');
  let isWriting = true;
  void ended.then(() => {
    isWriting = false;
  });
  const generations = new Set<string>();
  let longest = 0;
  while (isWriting || file.hasChanged()) {
    const salts = await send(file, copy);
    if (salts !== undefined) generations.add(salts);
    longest = Math.max(longest, statSync(`${path}-wal`).size);
    file.tidy();
    Atomics.add(rounds, 0, 1);
    Atomics.notify(rounds, 0);
    await delay(5);
  }
  assert.deepEqual(await ended, [0]);
  assert.ok(generations.size > 2, `the log began ${generations.size} times`);
  assert.ok(longest < 256 * MIB, `${Math.round(longest / MIB)} MiB`);
  compare();
});

test('a log that was written back before all of it was sent does not begin again', async (t) => {
  const { database, file, copy, compare } = createFile(t);
  const write = (mib: number) =>
    database.prepare('insert into block (bytes) values (zeroblob(?))').run(mib * MIB);
  write(70);
  const first = await send(file, copy);
  // More than is put aside.
  write(40);
  file.tidy();
  write(4);
  assert.equal(await send(file, copy), first);
  file.tidy();
  write(4);
  assert.notEqual(await send(file, copy), first, 'the log begins again after everything was sent');
  compare();
});
