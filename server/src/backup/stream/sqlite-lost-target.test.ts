// runs: test
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { BackupPlace } from '../../../test/support/backup-place.ts';
import { S3_KEYS, S3_REGION, startS3Server } from '../../../test/support/outbound/s3-server.ts';
import { until } from '../../../test/support/task-process.ts';
import { verifyTimeline } from '../restore/restore.ts';
import { mergeObjects } from '../timeline/merged-objects.ts';
import { readSpan } from '../timeline/spans.ts';
import { inspectTarget, nameOf } from '../timeline/timeline.ts';
import { FAILURES } from './failures.ts';

/** A target that loses objects, or is missing (docs/operating/backup.md, "When the target is damaged or gone"). */

const KEY = Buffer.alloc(32, 'lost');
const INCOMPLETE = FAILURES.indexOf('incomplete');
const VANISHED = FAILURES.indexOf('vanished');

type Sender = Awaited<ReturnType<BackupPlace['start']>>;

async function startSent(t: TestContext, backup: BackupPlace): Promise<Sender> {
  const sender = await backup.start(t);
  await until('there is a base', () => sender.read('basedAt') > 0);
  await backup.changeAndSend('change 1', sender.read);
  await backup.changeAndSend('change 2', sender.read);
  return sender;
}

/** Waits until the target is complete again after a loss. */
async function untilMended({ read }: Sender, gaps = 0): Promise<void> {
  await until('the loss is reported', () => read('gaps') > gaps);
  await until('there is another base', () => read('basedAt') > 0 && read('isIncomplete') === 0);
  await until('the backup continues', () => read('failure') === 0);
}

async function firstOf(backup: BackupPlace, folder: string): Promise<string> {
  const [name] = await backup.open().list(folder);
  assert.ok(name, `there is nothing in ${folder}`);
  return name;
}

for (const [what, folder] of [
  ['base', 'bases'],
  ['copy of the base', 'copies'],
] as const)
  for (const key of [undefined, KEY])
    test(`a ${what} that is deleted from a target ${key ? 'with' : 'without'} a key is reported, and a new base is made`, async (t) => {
      const backup = BackupPlace.create(t, { key });
      const sender = await startSent(t, backup);
      const name = await firstOf(backup, folder);
      await backup.open().remove(name);
      await until('the loss is reported', () => sender.read('gaps') > 0);
      await untilMended(sender);
      assert.equal(sender.read('gaps'), 1);
      await backup.changeAndSend('change 3', sender.read);
      await sender.stop();
      assert.deepEqual(await backup.restore('restored'), ['change 1', 'change 2', 'change 3']);
      assert.match(sender.reason(), new RegExp(`^${name} is missing`));
      assert.deepEqual(
        (await verifyTimeline(backup.open())).problems,
        [],
        'no object leads to a missing one',
      );
    });

test('a deleted segment is reported, and a new base is made', async (t) => {
  const backup = BackupPlace.create(t);
  const sender = await startSent(t, backup);
  const segments = await backup.open().list('segments');
  await backup.open().remove(segments.at(-2) as string);
  await untilMended(sender);
  assert.match(sender.reason(), /^the segment after number \d+ is missing/);
  await backup.changeAndSend('change 3', sender.read);
  await sender.stop();
  assert.deepEqual(await backup.restore('restored'), ['change 1', 'change 2', 'change 3']);
});

test('a loss is reported until the next check, and a restarted service finds it immediately', async (t) => {
  const backup = BackupPlace.create(t);
  const first = await startSent(t, backup);
  await first.stop();
  await backup.open().remove(await firstOf(backup, 'copies'));
  const { problem } = await inspectTarget(backup.target, backup.dataDir);
  assert.match(problem ?? '', /^copies\/.* is missing$/);
  const sender = await backup.start(t);
  assert.deepEqual(
    [sender.read('failure'), sender.read('isIncomplete'), sender.read('basedAt')],
    [INCOMPLETE, 1, 0],
  );
  await untilMended(sender);
  await sender.stop();
  assert.equal((await inspectTarget(backup.target, backup.dataDir)).problem, undefined);
});

test('a target directory that is renamed away is not created again, writes continue, and it gets the missed changes', async (t) => {
  const backup = BackupPlace.create(t);
  const sender = await startSent(t, backup);
  const away = `${backup.targetDir}-away`;
  renameSync(backup.targetDir, away);
  backup.change('change 3');
  await until('it is reported', () => sender.read('failure') === VANISHED);
  assert.equal(existsSync(backup.targetDir), false);
  assert.match(sender.reason(), /does not exist, and it is not created again: mount the disk of the backup/);
  const { problem } = await inspectTarget(backup.target, backup.dataDir);
  assert.equal(problem, 'it does not exist');
  // An unmounted disk leaves an empty directory.
  mkdirSync(backup.targetDir);
  backup.change('change 4');
  const failures = sender.read('failures');
  await until('the attempt is repeated', () => sender.read('failures') > failures + 1);
  assert.equal(sender.read('failure'), VANISHED);
  assert.deepEqual(readdirSync(backup.targetDir), []);
  rmSync(backup.targetDir, { recursive: true });
  renameSync(away, backup.targetDir);
  await until('the backup continues', () => sender.read('failure') === 0 && sender.read('behindSince') === 0);
  assert.equal(sender.read('gaps'), 0, 'no object was lost');
  await sender.stop();
  assert.deepEqual(await backup.restore('restored'), ['change 1', 'change 2', 'change 3', 'change 4']);
});

test('a service that starts without its target directory does not create one, and serves', async (t) => {
  const backup = BackupPlace.create(t);
  const first = await startSent(t, backup);
  await first.stop();
  const away = `${backup.targetDir}-away`;
  renameSync(backup.targetDir, away);
  const sender = await backup.start(t);
  assert.equal(sender.read('failure'), VANISHED);
  assert.equal(existsSync(backup.targetDir), false);
  renameSync(away, backup.targetDir);
  await backup.changeAndSend('change 3', sender.read);
  await sender.stop();
  assert.deepEqual(await backup.restore('restored'), ['change 1', 'change 2', 'change 3']);
});

test('the directory of another backup is refused, while the service runs and at its start', async (t) => {
  const backup = BackupPlace.create(t);
  const sender = await startSent(t, backup);
  const other = BackupPlace.create(t);
  await (await startSent(t, other)).stop();
  renameSync(backup.targetDir, `${backup.targetDir}-away`);
  cpSync(other.targetDir, backup.targetDir, { recursive: true });
  const before = readdirSync(backup.targetDir, { recursive: true });
  backup.change('change 3');
  await until('it is refused', () => sender.read('failure') === VANISHED);
  await sender.stop();
  const again = await backup.start(t);
  assert.equal(again.read('failure'), VANISHED);
  await again.stop();
  assert.deepEqual(readdirSync(backup.targetDir, { recursive: true }), before);
});

test('a target that was reset to an earlier state is reported, and gets a new base', async (t) => {
  for (const isRunning of [false, true]) {
    const backup = BackupPlace.create(t);
    const earlier = `${backup.targetDir}-earlier`;
    const first = await startSent(t, backup);
    cpSync(backup.targetDir, earlier, { recursive: true });
    await backup.changeAndSend('change 3', first.read);
    const setBack = () => {
      rmSync(backup.targetDir, { recursive: true });
      renameSync(earlier, backup.targetDir);
    };
    if (!isRunning) await first.stop();
    setBack();
    const sender = isRunning ? first : await backup.start(t);
    await untilMended(sender);
    await backup.changeAndSend('change 4', sender.read);
    await sender.stop();
    assert.deepEqual(await backup.restore('restored'), ['change 1', 'change 2', 'change 3', 'change 4']);
  }
});

test('a bucket that loses its base, or everything, gets a new base, and a check makes only a few requests', async (t) => {
  const bucket = await startS3Server('backups');
  t.after(bucket.close);
  const s3 = { ...S3_KEYS, endpoint: bucket.endpoint, region: S3_REGION };
  const backup = BackupPlace.create(t, { url: 's3://backups/relata', s3, key: KEY });
  const sender = await startSent(t, backup);
  await backup.open().remove(await firstOf(backup, 'copies'));
  await untilMended(sender);
  const gaps = sender.read('gaps');
  bucket.objects.clear();
  await untilMended(sender, gaps);
  await backup.changeAndSend('change 3', sender.read);
  // A check reads: the identity, the bases, the copy's name, the copies, the hours and the segments of two hours.
  const checkedAt = sender.read('checkedAt');
  const begun = bucket.requests.length;
  await until('it was checked again', () => sender.read('checkedAt') > checkedAt);
  const lists = bucket.requests.slice(begun).filter((request) => request.includes('list-type'));
  const folders = new Set(lists.map((request) => /prefix=relata%2F(\w+)/.exec(request)?.[1]));
  assert.ok(!folders.has(undefined) && folders.size <= 4, [...folders].join());
  await sender.stop();
  assert.deepEqual(await backup.restore('restored'), ['change 1', 'change 2', 'change 3']);
});

test('the numbers of segments continue when all segments are merged into hours', async (t) => {
  const backup = BackupPlace.create(t);
  const first = await startSent(t, backup);
  await first.stop();
  const target = backup.open();
  const read = await target.list('segments');
  const spans = read.flatMap((name) => readSpan(name) ?? []);
  const [firstSpan, last] = [spans[0], spans.at(-1)];
  assert.ok(firstSpan && last);
  // As after a day without changes: only the hour is left.
  const hour = nameOf({ ...last, kind: 'hours', from: firstSpan.from });
  await target.writeEntries(
    hour,
    mergeObjects((index) => target.readEntries(read[index] as string), read.length),
  );
  for (const name of read) await target.remove(name);
  const sender = await backup.start(t);
  assert.equal(sender.read('gaps'), 0);
  await backup.changeAndSend('change 3', sender.read);
  await sender.stop();
  assert.deepEqual(await backup.restore('restored'), ['change 1', 'change 2', 'change 3']);
});
