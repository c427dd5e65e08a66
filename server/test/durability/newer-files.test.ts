// runs: deep (not on postgres: the versions of files; postgres-schema.test.ts covers PostgreSQL)
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createBackup } from '../../src/backup/backup.ts';
import { runRelata } from '../support/relata-command.ts';
import { startTestService } from '../support/test-service.ts';
import { embeddedOnly } from '../support/test-store.ts';

/** An older program does not change the files of a newer one (docs/operating/install.md, "Upgrade"). */

const ofFiles = embeddedOnly('PostgreSQL has one schema for all projects');

/** A stopped store with one project and its backup, both of this program's version. */
async function makeStore(t: TestContext) {
  const service = await startTestService(t);
  await service.loadCatalog([{ identifier: 'A', name: 'One' }]);
  await service.stop();
  const folder = await mkdtemp(join(tmpdir(), 'relata-newer-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const backup = join(folder, 'backup');
  const dataDir = service.store.dataDir;
  await createBackup(dataDir, backup);
  const catalog = `catalogs/${service.projectId}.db`;
  return { folder, backup, dataDir, catalog, projectId: service.projectId };
}

function setSchema(path: string, version: number): void {
  const file = new DatabaseSync(path);
  file.exec(`pragma user_version = ${version}`);
  file.close();
}

/** Sets the schema version that a newer program would write into its backup. */
function setManifestSchema(backup: string, kind: 'control' | 'catalog', version: number): void {
  const path = join(backup, 'manifest.json');
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  manifest.schema[kind] = version;
  writeFileSync(path, JSON.stringify(manifest));
}

async function assertRefusal(file: string, dataDir: string, ...args: string[]): Promise<void> {
  const { code, output } = await runRelata(dataDir, ...args);
  const [before, after = ''] = output.split(' has schema 9000, this program knows ');
  assert.equal(before, `The ${file.endsWith('.db') ? 'file' : 'backup'} ${file}`, args.join(' '));
  assert.match(after, /^\d+: use a newer program\.$/, 'one line');
  assert.equal(code, 1);
}

for (const which of ['control.db', 'catalog'] as const) {
  test(`a start and every command refuse a ${which} of a newer program`, ofFiles, async (t) => {
    const { folder, backup, dataDir, catalog, projectId } = await makeStore(t);
    const name = which === 'catalog' ? catalog : which;
    const newer = join(folder, 'newer');
    await createBackup(dataDir, newer);
    setManifestSchema(newer, which === 'catalog' ? which : 'control', 9_000);
    const restored = join(folder, 'restored');
    await assertRefusal(newer, restored, 'restore', newer);
    assert.deepEqual(await readdir(folder), ['backup', 'newer'], 'nothing was made');
    await assertRefusal(newer, dataDir, 'restore', newer, '--project', `${projectId}`);
    // A backup of an earlier program has no manifest.
    await rm(join(newer, 'manifest.json'));
    setSchema(join(newer, name), 9_000);
    await assertRefusal(join(newer, name), restored, 'restore', newer, '--without-manifest');

    const live = join(dataDir, name);
    setSchema(live, 9_000);
    await assertRefusal(live, dataDir, 'serve');
    if (name === 'control.db') await assertRefusal(live, dataDir, 'key', 'create', '--scope', 'account');
    await assertRefusal(live, dataDir, 'backup', join(folder, 'copy'));
    await assertRefusal(
      live,
      dataDir,
      'migrate-store',
      '--from',
      dataDir,
      '--to',
      'postgres://127.0.0.1:1/none',
    );
    await assertRefusal(live, dataDir, 'restore', backup, '--project', `${projectId}`);
    assert.deepEqual(await readdir(folder), ['backup', 'newer'], 'nothing was made');
  });
}

test('a newer schema is detected even if a crash left it only in the WAL', ofFiles, async (t) => {
  const { folder, dataDir, catalog } = await makeStore(t);
  const live = join(dataDir, catalog);
  const copy = join(folder, 'copy.db');
  await copyFile(live, copy);
  const file = new DatabaseSync(copy);
  file.exec('pragma user_version = 9000');
  // Copied while it is open, because closing it would merge the WAL.
  for (const suffix of ['', '-wal']) await copyFile(`${copy}${suffix}`, `${live}${suffix}`);
  file.close();
  await assertRefusal(live, dataDir, 'serve');
});
