// runs: test
import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { writeWhole } from './product-files.ts';

const NOBODY = 65_534;
const isRoot = process.geteuid?.() === 0;
const asRoot = { skip: !isRoot && 'only root makes files of another user' };

/** A folder and a file in it that everyone may write. */
function makeFolder(t: TestContext, mode: number) {
  const folder = mkdtempSync(join(tmpdir(), 'relata-whole-'));
  const path = join(folder, 'catalog.ndjson');
  writeFileSync(path, 'kept');
  chmodSync(path, 0o666);
  chmodSync(folder, mode);
  t.after(() => {
    chmodSync(folder, 0o755);
    rmSync(folder, { recursive: true });
  });
  return { folder, path };
}

/** Root may do anything, so the modes are tested as another user. */
async function asUser(work: () => Promise<void>): Promise<void> {
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

const writing = (text: string) => (file: Writable) =>
  new Promise<void>((resolve, reject) => {
    file.on('error', reject).on('close', resolve).end(text);
  });

test('a file in a folder that takes no other is written all the same', async (t) => {
  const { folder, path } = makeFolder(t, 0o555);
  await asUser(() => writeWhole(path, writing('whole')));
  assert.equal(readFileSync(path, 'utf8'), 'whole');
  assert.deepEqual(readdirSync(folder), ['catalog.ndjson']);
  const missing = writeWhole(join(folder, 'none', 'catalog.ndjson'), writing('whole'));
  await assert.rejects(missing, { code: 'ENOENT' });
});

test(
  'a file that cannot be renamed over is written over, and stays the file that it is',
  asRoot,
  async (t) => {
    // Others can only rename their own files there.
    const { folder, path } = makeFolder(t, 0o1777);
    const { ino } = statSync(path);
    await asUser(() => writeWhole(path, writing('whole')));
    assert.deepEqual([readFileSync(path, 'utf8'), statSync(path).ino], ['whole', ino]);
    assert.deepEqual(readdirSync(folder), ['catalog.ndjson']);
  },
);

test('what is whole is kept where it cannot take its name, and the failure names it', async (t) => {
  const { folder, path } = makeFolder(t, 0o777);
  const written = writeWhole(path, async (file) => {
    await writing('whole')(file);
    rmSync(path);
    mkdirSync(path);
  });
  const error = await written.then(
    () => assert.fail('a folder is there by now'),
    (refused: Error) => refused,
  );
  const [part = ''] = readdirSync(folder).filter((name) => name.endsWith('.part'));
  assert.equal(readFileSync(join(folder, part), 'utf8'), 'whole');
  assert.match(error.message, new RegExp(`what belongs there is in .*${part}: `));
});

test('two that write one file at once leave one of the two, whole', async (t) => {
  const { folder, path } = makeFolder(t, 0o755);
  const both = Promise.withResolvers<void>();
  let open = 0;
  const texts = ['first\n'.repeat(1_000), 'second\n'.repeat(50)];
  const write = (text: string) =>
    writeWhole(path, async (file) => {
      open += 1;
      if (open === texts.length) both.resolve();
      await both.promise;
      await writing(text)(file);
    });
  await Promise.all(texts.map(write));
  assert.ok(texts.includes(readFileSync(path, 'utf8')));
  assert.deepEqual(readdirSync(folder), ['catalog.ndjson']);
});

test('what breaks off leaves the file as it was, and nothing beside it', async (t) => {
  const { folder, path } = makeFolder(t, 0o755);
  const written = writeWhole(path, async (file) => {
    file.write('half');
    throw new Error('broken off');
  });
  await assert.rejects(written, { message: 'broken off' });
  assert.equal(readFileSync(path, 'utf8'), 'kept');
  assert.deepEqual(readdirSync(folder), ['catalog.ndjson']);
});
