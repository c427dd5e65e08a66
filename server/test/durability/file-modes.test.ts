// runs: deep (not on postgres: PostgreSQL manages its own files)
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runRelata } from '../support/relata-command.ts';
import { startProcess } from '../support/service-process.ts';
import { embeddedOnly, embeddedStoreAt } from '../support/test-store.ts';

/** Stored data is only accessible to its owner (docs/operating/install.md, "First start"). */

const ofFiles = embeddedOnly('PostgreSQL manages its own files');

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'relata-modes-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** @returns the modes of folders and those of files, each with its paths */
function listModes(root: string): Record<string, string[]> {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  const paths = [root, ...entries.map(({ parentPath, name }) => join(parentPath, name))];
  const modeOf = (path: string) => {
    const stats = statSync(path);
    return `${stats.isDirectory() ? 'folder' : 'file'} ${(stats.mode & 0o777).toString(8)}`;
  };
  return Object.groupBy(paths, modeOf) as Record<string, string[]>;
}

function assertOwn(root: string): string[] {
  const { 'folder 700': folders = [], 'file 600': files = [], ...others } = listModes(root);
  assert.deepEqual(others, {});
  return [...folders, ...files].map((path) => path.slice(root.length + 1));
}

function start(t: TestContext, dataDir: string) {
  const store = embeddedStoreAt(dataDir);
  t.after(store.remove);
  return startProcess(store);
}

test(
  'files have the mode 0600 and folders 0700, including those of the WAL and of backups',
  ofFiles,
  async (t) => {
    const dataDir = join(await makeFolder(t), 'data');
    const running = await start(t, dataDir);
    await running.call('POST', '/management/project-groups', { body: { name: 'Shop' } });
    const project = { name: 'Shop', projectGroupId: 1, locale: 'en-GB' };
    await running.call('POST', '/management/projects', { body: project });
    const update = await running.call('POST', '/products', {
      body: { products: [{ identifier: 'A', name: 'A' }] },
    });
    assert.equal(update.status, 200, update.text);
    const { body } = await running.call('GET', '/tasks?limit=1');
    await running.call('GET', `/tasks/${body.tasks[0].id}?wait=30`);
    const present = assertOwn(dataDir);
    for (const name of [
      'control.db',
      'control.db-wal',
      'control.db-shm',
      'catalogs/1.db',
      'catalogs/1.db-wal',
    ])
      assert.ok(present.includes(name), `${name} of ${present}`);

    const backup = join(await makeFolder(t), 'backup');
    assert.equal((await runRelata(dataDir, 'backup', backup)).code, 0);
    assert.ok(assertOwn(backup).includes('catalogs/1.db'));
    const restored = join(await makeFolder(t), 'restored');
    execFileSync('chmod', ['-R', 'go+r', backup]);
    assert.equal((await runRelata(restored, 'restore', backup)).code, 0);
    assertOwn(restored);
  },
);

test('a start makes a data directory private if others can read it, and logs nothing', ofFiles, async (t) => {
  const dataDir = await makeFolder(t);
  const first = await start(t, dataDir);
  // The process is killed, so the WAL stays.
  await first.kill();
  execFileSync('chmod', ['-R', 'go+rX', dataDir]);
  assert.ok((listModes(dataDir)['file 644'] ?? []).some((path) => path.endsWith('-wal')));
  const running = await start(t, dataDir);
  assertOwn(dataDir);
  await running.stop();
  assert.doesNotMatch(running.log(), /other users/);
});

test('a start warns in one line of files and folders that remain readable for others', ofFiles, async (t) => {
  const folder = await makeFolder(t);
  const dataDir = join(folder, 'data');
  await mkdir(join(dataDir, 'import'), { recursive: true });
  chmodSync(dataDir, 0o755);
  const isRoot = process.getuid?.() === 0;
  const first = await start(t, dataDir);
  await first.stop();
  const strange = join(dataDir, 'catalogs', '9.db');
  writeFileSync(strange, '');
  chmodSync(strange, 0o644);
  // Only root can give a file away.
  if (isRoot) chownSync(strange, 65_534, 65_534);
  const running = await start(t, dataDir);
  await running.stop();
  const lines = running.log().split('\n');
  const warnings = lines.filter((line) => line.includes('other users can access the data directory'));
  assert.equal(warnings.length, 1);
  const { paths, count } = JSON.parse(warnings[0] ?? '');
  assert.deepEqual(paths, isRoot ? [dataDir, strange] : [dataDir]);
  assert.equal(count, paths.length);
  assert.equal(statSync(dataDir).mode & 0o777, 0o755, 'programs that write into import need access to it');
});
