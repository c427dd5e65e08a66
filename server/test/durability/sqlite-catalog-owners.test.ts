// runs: deep
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, type TestContext, test } from 'node:test';
import { createApp } from '../../src/app/app.ts';
import { createBackup, openBackup } from '../../src/backup/backup.ts';
import { readConfig } from '../../src/config.ts';
import { runRelata } from '../support/relata-command.ts';
import { Stops } from '../support/stops.ts';
import { startTestService } from '../support/test-service.ts';
import { embeddedStoreAt } from '../support/test-store.ts';

/**
 * A catalog file belongs to one project of one installation (docs/operating/backup.md, "A lost control.db"). Every
 * installation numbers its projects from 1, so a misplaced file would answer with the products of another project.
 */

const folder = mkdtempSync(join(tmpdir(), 'relata-owners-'));
const [projectId, second] = [1, 2];

/** Two stopped services with two projects each, whose products are named after the shop. */
before(async () => {
  for (const name of ['Own', 'Other']) {
    const store = embeddedStoreAt(join(folder, name));
    const service = await startTestService(new Stops(), { store });
    assert.deepEqual([service.projectId, await service.createProject('Second')], [projectId, second]);
    for (const id of [projectId, second])
      await service.loadCatalog([{ identifier: 'A', name: `${name}, project ${id}` }], id);
    await service.stop();
  }
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** @returns a copy */
async function openShop(t: TestContext, name: 'Own' | 'Other') {
  const dataDir = mkdtempSync(join(folder, 'copy-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  cpSync(join(folder, name), dataDir, { recursive: true, preserveTimestamps: true });
  const catalogs = join(dataDir, 'catalogs');
  const store = embeddedStoreAt(dataDir);
  return { dataDir, store, projectId, second, catalogs, pathOf: (id: number) => join(catalogs, `${id}.db`) };
}

type Shop = Awaited<ReturnType<typeof openShop>>;

const start = ({ dataDir }: Shop) =>
  createApp({
    config: readConfig({ RELATA_DATA_DIR: dataDir, RELATA_PORT: '0', RELATA_LOG_LEVEL: 'silent' }),
  });

/** Removes the files that a stopped service left beside a file, so that a copy of another file can replace it. */
function replaceFile(path: string, by: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
  cpSync(by, path);
}

for (const [what, lose] of [
  ['is missing', (path: string) => rmSync(path)],
  ['is empty', (path: string) => writeFileSync(path, '')],
] as const)
  test(`a start with catalogs is refused and creates nothing when control.db ${what}`, async (t) => {
    const shop = await openShop(t, 'Own');
    const control = join(shop.dataDir, 'control.db');
    lose(control);
    const before = readdirSync(shop.dataDir);
    await assert.rejects(start(shop), /no control\.db.*restore the whole directory from a backup, or move/);
    assert.deepEqual(readdirSync(shop.dataDir), before);
    const doctor = await runRelata(shop.dataDir, 'doctor');
    assert.equal(doctor.code, 1);
    assert.match(doctor.output, /no control\.db/);
    // These are the steps of the message.
    renameSync(shop.catalogs, `${shop.dataDir}/before`);
    rmSync(control, { force: true });
    await (await start(shop)).stop();
  });

test('a start is refused if control.db belongs to another installation than all catalogs', async (t) => {
  const [own, other] = [await openShop(t, 'Own'), await openShop(t, 'Other')];
  replaceFile(join(own.dataDir, 'control.db'), join(other.dataDir, 'control.db'));
  await assert.rejects(start(own), /control\.db of another installation.*restore the whole directory/);
  assert.match((await runRelata(own.dataDir, 'doctor')).output, /control\.db of another installation/);
});

for (const [origin, take, reason] of [
  ['another installation', (_: Shop, other: Shop) => other.pathOf(other.projectId), /another installation/],
  ['another project', (own: Shop) => own.pathOf(own.second), /belongs to project 2/],
] as const)
  test(`only the project whose file belongs to ${origin} is refused`, async (t) => {
    const [own, other] = [await openShop(t, 'Own'), await openShop(t, 'Other')];
    const backup = `${own.dataDir}-backup`;
    t.after(() => rmSync(backup, { recursive: true, force: true }));
    await createBackup(own.dataDir, backup);
    replaceFile(own.pathOf(own.projectId), take(own, other));
    const service = await startTestService(t, { store: own.store });
    const lookup = `/product-service/products-by-sku?projectId=${own.projectId}&identifiers=A`;
    const { status, body } = await service.call('GET', lookup);
    assert.deepEqual([status, body.reason], [503, 'catalog_foreign']);
    assert.deepEqual(
      (await service.lookUp(['A'], own.second)).map(({ name }) => name),
      [`Own, project ${own.second}`],
    );
    const ready = await service.call('GET', '/health/ready');
    assert.equal(ready.status, 200);
    assert.match(
      ready.body.problems.join(),
      new RegExp(`project ${own.projectId} is not served.*${reason.source}`),
    );
    const metrics = await service.call('GET', '/metrics');
    assert.match(String(metrics.body), /^relata_catalogs_foreign 1$/m);
    const doctor = await runRelata(own.dataDir, 'doctor');
    assert.match(doctor.output, reason);
    await assert.rejects(createBackup(own.dataDir, `${backup}-2`), reason);
    await service.stop();

    const restored = await runRelata(own.dataDir, 'restore', backup, '--project', String(own.projectId));
    assert.equal(restored.code, 0, restored.output);
    const again = await startTestService(t, { store: own.store });
    assert.equal((await again.lookUp(['A'], own.projectId))[0]?.name, `Own, project ${own.projectId}`);
    assert.equal((await again.call('GET', '/health/ready')).body.problems, undefined);
  });

test('removing a project does not delete the catalog file of another installation', async (t) => {
  const [own, other] = [await openShop(t, 'Own'), await openShop(t, 'Other')];
  const path = own.pathOf(own.projectId);
  replaceFile(path, other.pathOf(other.projectId));
  const service = await startTestService(t, { store: own.store });
  await service.app.catalog.store.removeCatalog(own.projectId);
  assert.ok(existsSync(path));
});

test('a catalog from before installations had an identity records its owner when it is first opened', async (t) => {
  const shop = await openShop(t, 'Own');
  const forget = new DatabaseSync(shop.pathOf(shop.projectId));
  forget.exec("delete from meta where name in ('installation', 'project')");
  forget.close();
  const service = await startTestService(t, { store: shop.store });
  assert.equal((await service.lookUp(['A'], shop.projectId)).length, 1);
  const entries = await shop.store.readCatalog<{ name: string; value: unknown }>(
    shop.projectId,
    "select name, value from meta where name in ('installation', 'project') order by name",
  );
  assert.match(String(entries[0]?.value), /^[0-9a-f]{32}$/);
  assert.equal(Number(entries[1]?.value), shop.projectId);
});

test('a backup that contains a catalog of another installation is not whole and is not restored', async (t) => {
  const [own, other] = [await openShop(t, 'Own'), await openShop(t, 'Other')];
  const backup = `${other.dataDir}-backup`;
  t.after(() => rmSync(backup, { recursive: true, force: true }));
  await createBackup(other.dataDir, backup);
  const refused = await runRelata(own.dataDir, 'restore', backup, '--project', String(own.projectId));
  assert.equal(refused.code, 1);
  assert.match(refused.output, /belongs to another installation: restore the whole backup/);
  rmSync(join(backup, 'manifest.json'));
  replaceFile(join(backup, 'catalogs', `${other.projectId}.db`), own.pathOf(own.projectId));
  await assert.rejects(openBackup(backup, { withoutManifest: true }), /belongs to another installation/);
});
