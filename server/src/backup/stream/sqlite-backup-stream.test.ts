// runs: test
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { until } from '../../../test/support/task-process.ts';
import { dataFolderAt, makeStoreFolders } from '../../storage/folder/folder.ts';
import { migrate } from '../../storage/migrations/migrations.ts';
import { stampOf } from '../files/watched-file.ts';
import { fillFolder, listBackups } from '../restore/restore.ts';
import { openTarget } from '../target/target.ts';
import { takeLease } from '../timeline/timeline.ts';
import { BackupStream } from './backup-stream.ts';
import { createStreamState, STATE } from './stream-state.ts';

async function createFixture(t: TestContext) {
  const root = await mkdtemp(join(tmpdir(), 'relata-test-'));
  t.after(() => rm(root, { recursive: true }));
  const folder = dataFolderAt(join(root, 'data'));
  makeStoreFolders(folder);
  {
    using control = new DatabaseSync(folder.control);
    migrate(control, 'control');
  }
  const target = join(root, 'target');
  makeStoreFolders(dataFolderAt(target));
  const targetAddress = { url: pathToFileURL(target).href, s3: undefined };
  const createStream = (backlogBytes = 2 ** 30) => {
    const state = createStreamState();
    const settings = { keepSecondsHours: 24, keepHoursDays: 30, backlogBytes };
    return {
      state,
      stream: new BackupStream({ dataDir: folder.root, target: targetAddress, ...settings }, state),
    };
  };
  return { root, folder, target, targetAddress, createStream };
}

test('a target that fails after the lease was taken gets its base copy when it is back', async (t) => {
  const { target, targetAddress, createStream } = await createFixture(t);
  // The file is not a folder, so its contents cannot be listed.
  await writeFile(join(target, 'bases'), '');
  const { stream, state } = createStream();
  assert.equal(await stream.start(), undefined);
  assert.equal(state[STATE.failures], 1);
  await rm(join(target, 'bases'));
  await until('there is a base copy', () => Number(state[STATE.basedAt]) > 0);
  await stream.stop();
  assert.equal((await listBackups(openTarget(targetAddress))).ranges.length, 1);
});

test('a directory recognises its own lease although the answer was lost', async (t) => {
  const { root, target, createStream } = await createFixture(t);
  const { stream, state } = createStream();
  await using folder = await open(root);
  const sync = t.mock.method(Object.getPrototypeOf(folder), 'sync');
  // The lease is synced, but its folder is not.
  sync.mock.mockImplementationOnce(() => Promise.reject(new Error('lost')), 1);
  assert.equal(await stream.start(), undefined);
  assert.deepEqual([state[STATE.failures], existsSync(join(target, 'leases', '000001'))], [1, true]);
  await until('there is a base copy', () => Number(state[STATE.basedAt]) > 0);
  await stream.stop();
});

test('a directory recognises its own lease that arrives while it is taken again', async (t) => {
  const { targetAddress } = await createFixture(t);
  const target = openTarget(targetAddress);
  const own = { holder: 'own', from: 3 };
  const late = await takeLease(target, undefined, own);
  assert.deepEqual(await takeLease(target, undefined, own), late);
  assert.equal(await takeLease(target, undefined, { ...own, from: 4 }), undefined);
  assert.equal(await takeLease(target, undefined, { holder: 'other', from: 3 }), undefined);
});

test('a directory whose first lease failed does not continue the backup of another directory', async (t) => {
  const { target, createStream } = await createFixture(t);
  await writeFile(join(target, 'parts'), '');
  const { stream, state } = createStream();
  assert.equal(await stream.start(), undefined);
  const lease = { holder: 'other', from: 0, at: 1, renewedAt: 1 };
  await writeFile(join(target, 'leases', '000001'), JSON.stringify(lease));
  await rm(join(target, 'parts'));
  await until('it is superseded', () => state[STATE.isSuperseded] === 1, 3_000);
  await stream.stop();
});

test('a target that is unreachable from the start gets a base copy of the changes that were dropped', async (t) => {
  const { root, folder, target, targetAddress, createStream } = await createFixture(t);
  const catalog = join(folder.catalogs, '1.db');
  using writer = new DatabaseSync(catalog);
  writer.exec(
    'pragma journal_mode = wal; pragma wal_autocheckpoint = 0; create table block (id integer primary key, bytes)',
  );
  const first = createStream();
  assert.equal(await first.stream.start(), undefined);
  await until('there is a base copy', () => Number(first.state[STATE.basedAt]) > 0);
  await first.stream.stop();
  const [leases, away] = [join(target, 'leases'), join(target, 'away')];
  await rename(leases, away);
  await writeFile(leases, '');
  const { stream, state } = createStream(64 * 1024);
  assert.equal(await stream.start(), undefined);
  const before = stampOf(catalog);
  const insert = writer.prepare('insert into block (bytes) values (randomblob(1048576))');
  // A log is written back from 64 MiB on.
  for (let count = 0; count < 66; count += 1) insert.run();
  await until('the log is written back', () => stampOf(catalog) !== before);
  // A file that cannot be opened does not end the backup.
  await mkdir(join(folder.catalogs, '2.db'));
  await writeFile(join(folder.catalogs, '2.db-wal'), '');
  const failures = Number(state[STATE.failures]);
  await until('the attempt is repeated', () => Number(state[STATE.failures]) > failures + 1);
  for (const name of ['2.db', '2.db-wal']) await rm(join(folder.catalogs, name), { recursive: true });
  insert.run();
  await rm(leases);
  await rename(away, leases);
  const based = Number(first.state[STATE.basedAt]);
  await until('there is another base copy', () => Number(state[STATE.basedAt]) > based);
  await stream.stop();
  const restored = dataFolderAt(join(root, 'restored'));
  await fillFolder(openTarget(targetAddress), restored.root);
  using copy = new DatabaseSync(join(restored.catalogs, '1.db'));
  assert.equal(copy.prepare('pragma integrity_check').get()?.integrity_check, 'ok');
  const rows = 'select id, bytes from block';
  assert.deepEqual(copy.prepare(rows).all(), writer.prepare(rows).all());
});
