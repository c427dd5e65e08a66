// runs: test
import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { directory } from './directory-source.ts';
import { type OpenedSource, type OpenSettings, SourceProblem, type SourceStamp } from './source.ts';

interface DirectoryRun {
  readonly importDir: string | undefined;
  readonly projectId: number;
  readonly maxBytes: number;
  readonly last?: SourceStamp | undefined;
}

const openDirectorySource = (
  source: { pattern: string; take?: 'all' | 'newest' },
  { importDir, maxBytes, ...run }: DirectoryRun,
) =>
  directory.open({ type: 'directory', ...source }, run, {
    importDir,
    maxPackedBytes: maxBytes,
  } as OpenSettings);

interface Folder {
  readonly run: DirectoryRun;
  /** The import directory. The project has the id 7. */
  readonly root: string;
  write(name: string, text?: string, seconds?: number): string;
}

function makeFolder(t: TestContext): Folder {
  const root = mkdtempSync(join(tmpdir(), 'relata-import-'));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, '7'));
  return {
    root,
    run: { importDir: root, projectId: 7, maxBytes: 1_000_000 },
    write(name, text = name, seconds = 1_000) {
      const path = join(root, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
      utimesSync(path, seconds, seconds);
      return path;
    },
  };
}

async function readAll(opened: OpenedSource | undefined): Promise<string[]> {
  const texts: string[] = [];
  for (const { bytes } of opened?.files ?? [])
    texts.push(String(Buffer.concat(await Array.fromAsync(bytes))));
  return texts;
}

const namesOf = (opened: OpenedSource | undefined) => opened?.files.map(({ name }) => name);

const isProblem = (reason: string, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof SourceProblem, String(error));
  assert.equal(error.reason, reason, error.message);
  assert.match(error.message, text);
  return true;
};

test('all matching files are read in the order of their names', async (t) => {
  const { run, write } = makeFolder(t);
  for (const name of [
    '7/b.csv',
    '7/a.csv',
    '7/in/a.csv',
    '7/in/x/c.csv',
    '7/.hidden.csv',
    '7/a.txt',
    '8/a.csv',
  ])
    write(name);
  const flat = await openDirectorySource({ pattern: '*.csv' }, run);
  assert.deepEqual(namesOf(flat), ['a.csv', 'b.csv']);
  assert.deepEqual(await readAll(flat), ['7/a.csv', '7/b.csv']);
  const deep = await openDirectorySource({ pattern: '**/*.csv' }, run);
  assert.deepEqual(namesOf(deep), ['a.csv', 'b.csv', 'in/a.csv', 'in/x/c.csv']);
});

test('take newest reads only the newest file, and of two equally new files the one with the later name', async (t) => {
  const { run, write } = makeFolder(t);
  write('7/a.csv', 'a', 3_000);
  write('7/b.csv', 'b', 2_000);
  assert.deepEqual(namesOf(await openDirectorySource({ pattern: '*', take: 'newest' }, run)), ['a.csv']);
  write('7/c.csv', 'c', 3_000);
  assert.deepEqual(namesOf(await openDirectorySource({ pattern: '*', take: 'newest' }, run)), ['c.csv']);
});

test('a run skips files with unchanged names, sizes and instants, and detects every change', async (t) => {
  const { run, write, root } = makeFolder(t);
  write('7/a.csv');
  const open = async (last: DirectoryRun['last']) => openDirectorySource({ pattern: '*' }, { ...run, last });
  let last = (await open(undefined))?.stamp;
  assert.ok(last);
  assert.equal(await open(last), undefined);
  const changes = [
    () => write('7/a.csv', 'other bytes'),
    () => utimesSync(join(root, '7/a.csv'), 5, 5),
    () => renameSync(join(root, '7/a.csv'), join(root, '7/b.csv')),
    () => write('7/c.csv'),
  ];
  for (const change of changes) {
    change();
    const opened = await open(last);
    assert.ok(opened, String(change));
    last = opened.stamp;
    assert.equal(await open(last), undefined);
  }
});

test('a missing, forbidden or empty directory is reported', async (t) => {
  const { run, root } = makeFolder(t);
  const open = (changed: Partial<DirectoryRun>) =>
    openDirectorySource({ pattern: '*' }, { ...run, ...changed });
  await assert.rejects(open({}), isProblem('no_file', /matches \*/));
  await assert.rejects(open({ projectId: 8 }), isProblem('no_file', /no folder 8/));
  await assert.rejects(open({ importDir: join(root, 'nowhere') }), isProblem('no_file', /no folder 7/));
  await assert.rejects(open({ importDir: undefined }), isProblem('no_file', /RELATA_IMPORT_DIR is not set/));
});

test('a link inside the folder is followed, and a link that leads out of it is refused', async (t) => {
  const { run, write, root } = makeFolder(t);
  write('7/store/a.csv', 'inside');
  write('8/b.csv', 'of another project');
  const open = (pattern: string) => openDirectorySource({ pattern }, run);
  symlinkSync('store/a.csv', join(root, '7/link.csv'));
  assert.deepEqual(await readAll(await open('*.csv')), ['inside']);
  symlinkSync('store', join(root, '7/other'));
  assert.deepEqual(namesOf(await open('other/*.csv')), ['other/a.csv']);

  symlinkSync('../8/b.csv', join(root, '7/steal.csv'));
  await assert.rejects(open('*.csv'), isProblem('outside', /steal\.csv is a link that leads out/));
  await assert.rejects(open('steal.csv'), isProblem('outside', /leads out/));
  assert.deepEqual(namesOf(await open('link.csv')), ['link.csv'], 'an unused link does no harm');
  symlinkSync('/etc', join(root, '7/etc'));
  await assert.rejects(open('etc/*'), isProblem('outside', /etc is a link/));
  await assert.rejects(open('**/passwd'), isProblem('outside', /etc is a link/));
  symlinkSync('/etc/passwd', join(root, '7/passwd'));
  await assert.rejects(open('passwd'), isProblem('outside', /leads out/));
});

test('the folder of a project may not be a link, and a folder whose name begins with its name is outside', async (t) => {
  const { run, write, root } = makeFolder(t);
  write('7/a.csv');
  symlinkSync('7', join(root, '9'));
  const open = (projectId: number) => openDirectorySource({ pattern: '*' }, { ...run, projectId });
  await assert.rejects(open(9), isProblem('outside', /folder 9 is a link/));
  write('77/secret.csv');
  symlinkSync('../77/secret.csv', join(root, '7/b.csv'));
  await assert.rejects(open(7), isProblem('outside', /leads out/));
});

test('cyclic links, broken links and names that are not files are skipped', async (t) => {
  const { run, write, root } = makeFolder(t);
  write('7/in/a.csv');
  symlinkSync('..', join(root, '7/in/up'));
  symlinkSync('loop', join(root, '7/loop'));
  symlinkSync('gone.csv', join(root, '7/broken.csv'));
  mkdirSync(join(root, '7/folder.csv'));
  const socket = createServer();
  await new Promise<void>((resolve) => socket.listen(join(root, '7/socket.csv'), resolve));
  t.after(() => socket.close());
  const opened = await openDirectorySource({ pattern: '**/*.csv' }, run);
  assert.deepEqual(namesOf(opened), ['in/a.csv']);
});

test('files that are too large or too many are refused', async (t) => {
  const { run, write } = makeFolder(t);
  write('7/a.csv', 'x'.repeat(600));
  write('7/b.csv', 'x'.repeat(600));
  const open = openDirectorySource({ pattern: '*' }, { ...run, maxBytes: 1_000 });
  await assert.rejects(open, isProblem('too_large', /larger than 1000 bytes/));
  for (let index = 0; index < 1_000; index++) write(`7/${index}.csv`, '');
  await assert.rejects(
    openDirectorySource({ pattern: '*' }, run),
    isProblem('too_large', /more than 1000 files/),
  );
});

test('a file that changes while it is read fails the run', async (t) => {
  const { run, write, root } = makeFolder(t);
  const path = write('7/a.csv', 'x'.repeat(600_000));
  const changes = [
    () => appendFileSync(path, 'more'),
    () => writeFileSync(path, 'short'),
    () => rmSync(path),
    () => {
      renameSync(path, join(root, '7/kept'));
      symlinkSync('/etc/passwd', path);
    },
  ];
  for (const change of changes) {
    rmSync(path, { force: true });
    write('7/a.csv', 'x'.repeat(600_000));
    const opened = await openDirectorySource({ pattern: 'a.csv' }, run);
    change();
    await assert.rejects(readAll(opened), isProblem('changed', /a\.csv changed while it was read/));
  }
  rmSync(path);
  write('7/a.csv', 'x'.repeat(600_000));
  const opened = await openDirectorySource({ pattern: 'a.csv' }, run);
  const growing = (async () => {
    for await (const _ of opened?.files[0]?.bytes ?? []) appendFileSync(path, 'more');
  })();
  await assert.rejects(growing, isProblem('changed', /changed/));
});

test('a folder that is replaced by a link between listing and reading is not followed', async (t) => {
  const { run, write, root } = makeFolder(t);
  write('7/in/a.csv', 'inside');
  write('8/a.csv', 'secret');
  const opened = await openDirectorySource({ pattern: 'in/*' }, run);
  renameSync(join(root, '7/in'), join(root, '7/was'));
  symlinkSync('../8', join(root, '7/in'));
  await assert.rejects(readAll(opened), isProblem('changed', /changed/));
});
