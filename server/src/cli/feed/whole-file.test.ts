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
const asRoot = { skip: !isRoot && 'only root can create files of another user' };

/** Makes a folder with this mode, and a file in it that every user can write. */
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

/** Runs the work as another user, because modes do not apply to root. */
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

test('a file is written directly if its folder does not accept another file', async (t) => {
  const { folder, path } = makeFolder(t, 0o555);
  await asUser(() => writeWhole(path, writing('whole')));
  assert.equal(readFileSync(path, 'utf8'), 'whole');
  assert.deepEqual(readdirSync(folder), ['catalog.ndjson']);
  const missing = writeWhole(join(folder, 'none', 'catalog.ndjson'), writing('whole'));
  await assert.rejects(missing, { code: 'ENOENT' });
});

test('a file that cannot be replaced by renaming is overwritten in place', asRoot, async (t) => {
  // In a folder with this mode, users can only rename their own files.
  const { folder, path } = makeFolder(t, 0o1777);
  const { ino } = statSync(path);
  await asUser(() => writeWhole(path, writing('whole')));
  assert.deepEqual([readFileSync(path, 'utf8'), statSync(path).ino], ['whole', ino]);
  assert.deepEqual(readdirSync(folder), ['catalog.ndjson']);
});

test('a complete file that cannot be renamed stays, and the error names it', async (t) => {
  const { folder, path } = makeFolder(t, 0o777);
  const written = writeWhole(path, async (file) => {
    await writing('whole')(file);
    rmSync(path);
    mkdirSync(path);
  });
  const error = await written.then(
    () => assert.fail('the path is a folder'),
    (refused: Error) => refused,
  );
  const [part = ''] = readdirSync(folder).filter((name) => name.endsWith('.part'));
  assert.equal(readFileSync(join(folder, part), 'utf8'), 'whole');
  assert.match(error.message, new RegExp(`the complete file is .*${part}: `));
});

test('two concurrent writes leave one of the two files complete', async (t) => {
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

test('an interrupted write leaves the file unchanged and no temporary file', async (t) => {
  const { folder, path } = makeFolder(t, 0o755);
  const written = writeWhole(path, async (file) => {
    file.write('half');
    throw new Error('broken off');
  });
  await assert.rejects(written, { message: 'broken off' });
  assert.equal(readFileSync(path, 'utf8'), 'kept');
  assert.deepEqual(readdirSync(folder), ['catalog.ndjson']);
});
