// runs: deep, slow (not on postgres: PostgreSQL is backed up with its own tools)
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test as runTest, type TestContext } from 'node:test';
import { createBackup } from '../../src/backup/backup.ts';
import { runRelata } from '../support/relata-command.ts';
import { Stops } from '../support/stops.ts';
import { startTestService } from '../support/test-service.ts';
import { embeddedOnly, embeddedStoreAt } from '../support/test-store.ts';

/** A damaged or incomplete backup is refused, and the refusal names the file (docs/operating/backup.md, "Backup and restore"). */

const ofFiles = embeddedOnly('PostgreSQL is backed up with its own tools');
const test = (name: string, work: (t: TestContext) => Promise<void>) => void runTest(name, ofFiles, work);

const root = mkdtempSync(join(tmpdir(), 'relata-damaged-'));
const made = join(root, 'backup');
let filled: number;
let other: number;
let empty: number;

/** Ends the service that fills the backup. */
const stops = new Stops();

before(async () => {
  // Nothing here applies to PostgreSQL.
  if (ofFiles.skip) return;
  const service = await startTestService(stops);
  filled = service.projectId;
  other = await service.createProject('Other');
  empty = await service.createProject('Never filled');
  const products = Array.from({ length: 400 }, (_, index) => ({
    identifier: `P${index}`,
    name: `${index} `.repeat(120),
  }));
  await service.loadCatalog(products, filled);
  await service.loadCatalog([{ identifier: 'A', name: 'Other' }], other);
  // A stored body of an open full update.
  await service.call('POST', `/products/batch/initiate?projectId=${other}`);
  const body = { products: [{ identifier: 'B', name: 'Uploaded' }] };
  await service.call('POST', `/products/batch/upload?projectId=${other}`, { body });
  await createBackup(service.store.dataDir, made);
});

after(async () => {
  await stops.stopAll();
  rmSync(root, { recursive: true, force: true });
});

let copies = 0;

/** A copy of the backup, to be damaged, and a data directory that does not exist yet. */
function copyBackup() {
  copies += 1;
  const backup = join(root, `copy-${copies}`);
  cpSync(made, backup, { recursive: true });
  const dataDir = join(root, `data-${copies}`);
  return { backup, dataDir, at: (path: string) => join(backup, path) };
}

const catalogOf = (projectId: number) => `catalogs/${projectId}.db`;

/** Changes bytes outside the header of the file, like a disk that returns wrong bytes. */
function addNoise(path: string, bytes: number): void {
  const whole = readFileSync(path);
  whole.fill(0xa5, whole.length - bytes);
  writeFileSync(path, whole);
}

/** @returns the equal output of `relata restore` and `relata verify`; nothing may be restored */
async function assertRefused(backup: string, dataDir: string, ...flags: string[]): Promise<string> {
  const restored = await runRelata(dataDir, 'restore', backup, ...flags);
  assert.equal(restored.code, 1, restored.output);
  assert.ok(!existsSync(join(dataDir, 'control.db')), 'nothing is replaced');
  assert.deepEqual(await runRelata(dataDir, 'verify', backup, ...flags), restored);
  assert.doesNotMatch(restored.output, /^ {4}at /m, 'no stack');
  return restored.output;
}

test('a whole backup has a manifest of files, sizes, hashes, schemas and instant, and is verified and restored', async () => {
  const { backup, dataDir, at: pathOf } = copyBackup();
  const manifest = JSON.parse(readFileSync(pathOf('manifest.json'), 'utf8'));
  const paths = ['catalogs', 'payloads'].flatMap((part) =>
    readdirSync(pathOf(part)).map((name) => `${part}/${name}`),
  );
  assert.deepEqual(
    manifest.files.map(({ path }: { path: string }) => path),
    [...paths, 'control.db'].sort(),
  );
  assert.ok(
    paths.includes(catalogOf(filled)) && paths.some((path) => path.startsWith('payloads/')),
    paths.join(),
  );
  for (const { path, bytes, sha256 } of manifest.files) {
    assert.equal(bytes, readFileSync(pathOf(path)).length);
    assert.match(sha256, /^[0-9a-f]{64}$/);
  }
  assert.ok(Date.parse(manifest.madeAt) <= Date.now());
  assert.ok(manifest.schema.control >= 12 && manifest.schema.catalog >= 10);
  const { code, output } = await runRelata(dataDir, 'verify', backup);
  assert.equal(code, 0, output);
  assert.match(
    output,
    new RegExp(`^${backup}: ${manifest.files.length} files, \\d+ bytes, all match the manifest of 20`),
  );
  assert.ok(!existsSync(dataDir), 'it makes nothing');
  assert.equal((await runRelata(dataDir, 'restore', backup)).code, 0);
  assert.deepEqual(readdirSync(dataDir).sort(), ['catalogs', 'control.db', 'payloads', 'server.lock']);
});

const DAMAGES: readonly [string, (path: string) => void, RegExp][] = [
  ['is missing', (path) => rmSync(path), /^it is missing$/],
  ['is cut', (path) => truncateSync(path, 40_000), /^it has 40000 bytes, but had \d+$/],
  ['is empty', (path) => truncateSync(path, 0), /^it has 0 bytes, but had \d+$/],
  ['has 80 KB of noise', (path) => addNoise(path, 80_000), /^its bytes differ from those in the manifest$/],
];

for (const [what, damage, problem] of DAMAGES) {
  test(`a backup with a file that ${what} is refused, and the file is named`, async () => {
    for (const name of [catalogOf(filled), 'control.db']) {
      if (name === 'control.db' && what === 'is missing') continue;
      const { backup, dataDir, at: pathOf } = copyBackup();
      damage(pathOf(name));
      const [first, line = '', advice = ''] = (await assertRefused(backup, dataDir)).split('\n');
      assert.equal(first, `The backup ${backup} is damaged or not complete:`);
      const [path, found = ''] = line.trim().split(': ');
      assert.equal(path, pathOf(name));
      assert.match(found, problem);
      assert.match(advice, /^Use another backup\. .*relata restore .* --project ID$/);
    }
  });
}

test('a backup is refused if a stored body is missing or the manifest lacks a catalog', async () => {
  const { backup, dataDir, at: pathOf } = copyBackup();
  const [name] = readdirSync(pathOf('payloads'));
  rmSync(pathOf(`payloads/${name}`));
  copyFileSync(pathOf(catalogOf(other)), pathOf('catalogs/900.db'));
  const output = await assertRefused(backup, dataDir);
  assert.match(output, new RegExp(`payloads/${name}: it is missing`));
  assert.match(output, /catalogs\/900\.db: it is not in manifest\.json/);
});

test('links, FIFOs and database triggers in a backup are refused and named (docs/operating/backup.md, "What the key protects")', async () => {
  const linked = copyBackup();
  renameSync(linked.at(catalogOf(filled)), join(root, 'elsewhere.db'));
  symlinkSync(join(root, 'elsewhere.db'), linked.at(catalogOf(filled)));
  const irregular = /it is not a regular file or folder/;
  assert.match(await assertRefused(linked.backup, linked.dataDir), irregular);
  const piped = copyBackup();
  execFileSync('mkfifo', [piped.at('payloads/pipe')]);
  assert.match(await assertRefused(piped.backup, piped.dataDir), /payloads\/pipe: it is not a regular file/);
  const foreign = copyBackup();
  {
    using control = new DatabaseSync(foreign.at('control.db'));
    control.exec('create trigger take_over after insert on account begin delete from api_key; end');
  }
  rmSync(foreign.at('manifest.json'));
  const output = await assertRefused(foreign.backup, foreign.dataDir, '--without-manifest');
  assert.match(output, /control\.db: it has a trigger take_over, which this service did not create/);
});

test('a backup with an unreadable manifest is refused', async () => {
  const { backup, dataDir, at: pathOf } = copyBackup();
  truncateSync(pathOf('manifest.json'), 100);
  assert.equal(
    await assertRefused(backup, dataDir),
    `The file ${pathOf('manifest.json')} is damaged; use another backup.`,
  );
});

test('the intact projects of a damaged backup can be restored one by one, and a damaged one is refused', async (t) => {
  const { backup, dataDir, at: pathOf } = copyBackup();
  await runRelata(dataDir, 'restore', backup);
  addNoise(pathOf(catalogOf(filled)), 80_000);
  const refused = await runRelata(dataDir, 'restore', backup, '--project', `${filled}`);
  assert.equal(refused.code, 1, refused.output);
  assert.ok(refused.output.includes(pathOf(catalogOf(filled))), refused.output);
  const brought = await runRelata(dataDir, 'restore', backup, '--project', `${other}`);
  assert.equal(brought.code, 0, brought.output);
  const service = await startTestService(t, { store: embeddedStoreAt(dataDir) });
  assert.equal((await service.lookUp(['P399'], filled)).length, 1, 'existing data stays');
});

test('a damaged catalog is restored while the service is stopped, and its file is moved aside', async (t) => {
  const { backup, dataDir } = copyBackup();
  await runRelata(dataDir, 'restore', backup);
  const path = join(dataDir, catalogOf(filled));
  truncateSync(path, 40_000);
  const cut = readFileSync(path);
  const running = await startTestService(t, { store: embeddedStoreAt(dataDir) });
  const refused = await runRelata(dataDir, 'restore', backup, '--project', `${filled}`);
  assert.deepEqual(refused, {
    code: 1,
    output: `The file ${path} is damaged or belongs to another project, and a service runs. Stop the service, then run this command again.`,
  });
  await running.stop();
  const { code, output } = await runRelata(dataDir, 'restore', backup, '--project', `${filled}`);
  assert.equal(code, 0, output);
  assert.match(
    output,
    new RegExp(`has the 400 products.*\\nthe former file was moved to ${path}\\.damaged: `),
  );
  assert.deepEqual(readFileSync(`${path}.damaged`), cut);
  const service = await startTestService(t, { store: embeddedStoreAt(dataDir) });
  assert.equal((await service.lookUp(['P399'], filled)).length, 1);
  const update = await service.call('POST', `/products?projectId=${filled}`, {
    body: [{ identifier: 'new', name: 'Later' }],
  });
  assert.equal((await service.ended(update.body.task.id)).taskStatus, 'FINISHED', 'changes continue');
});

test('a backup of an earlier version without a manifest is restored on request, after the checks that it allows', async (t) => {
  const whole = copyBackup();
  rmSync(whole.at('manifest.json'));
  assert.match(
    await assertRefused(whole.backup, whole.dataDir),
    /has no manifest\.json: an earlier version made it.*With --without-manifest/,
  );
  const verified = await runRelata(whole.dataDir, 'verify', whole.backup, '--without-manifest');
  assert.match(verified.output, /SQLite finds no damage\n/);
  const { code, output } = await runRelata(whole.dataDir, 'restore', whole.backup, '--without-manifest');
  assert.equal(code, 0, output);
  assert.match(output, new RegExp(`projects without a catalog file, .*: ${empty}$`));
  const service = await startTestService(t, { store: embeddedStoreAt(whole.dataDir) });
  assert.equal((await service.lookUp(['P399'], filled)).length, 1);

  for (const [what, damage] of DAMAGES) {
    const { backup, dataDir, at: pathOf } = copyBackup();
    rmSync(pathOf('manifest.json'));
    damage(pathOf(catalogOf(filled)));
    const refused = await assertRefused(backup, dataDir, '--without-manifest');
    assert.ok(refused.includes(pathOf(catalogOf(filled))), `${what}: ${refused}`);
  }
});

test('a data directory with a damaged catalog is not backed up: the file is named, and the last backup stays', async () => {
  const { backup, dataDir } = copyBackup();
  await runRelata(dataDir, 'restore', backup);
  const path = join(dataDir, catalogOf(filled));
  const file = new DatabaseSync(path);
  // Every page of the products' uploads.
  const pages = file.prepare("select pageno from dbstat where name = 'document'").all();
  file.close();
  const bytes = readFileSync(path);
  for (const { pageno } of pages) bytes.fill(0, (Number(pageno) - 1) * 16_384, Number(pageno) * 16_384);
  writeFileSync(path, bytes);
  const target = `${backup}-again`;
  const { code, output } = await runRelata(dataDir, 'backup', target);
  assert.equal(code, 1, output);
  assert.match(output, new RegExp(`^The file ${path} is damaged \\(.*relata restore DIR --project ID`, 's'));
  assert.ok(!existsSync(target));
});
