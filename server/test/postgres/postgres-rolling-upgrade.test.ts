// runs: postgres deep
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readMigrations } from '../../src/storage/migrations/migrations.ts';
import { createProject } from '../support/catalogs/catalog-caller.ts';
import { countProducts, loadBatches, PRODUCTS_OF_BATCH } from '../support/catalogs/whole-loads.ts';
import { unpackLatest } from '../support/earlier-stores/packed-program.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { type ServiceProcess, startProcess, startProgram } from '../support/service-process.ts';
import { findServer, postgresStoreOn } from '../support/test-store.ts';

/** Two versions at the same time on one database (docs/operating/install.md, "Upgrade"). */

const { release, folder, main } = unpackLatest();
after(() => rm(folder, { recursive: true, force: true }));

test(`programs of ${release} can continue after every migration since that release`, () => {
  const releasedFiles = new Set(readdirSync(join(folder, 'server/migrations/postgres')));
  const newest = Math.max(...[...releasedFiles].map((name) => Number(name.slice(0, 4))));
  const stopping = readMigrations('postgres').filter(
    ({ version, isCompatible }) => version > newest && !isCompatible,
  );
  assert.deepEqual(
    stopping.map(({ version }) => version),
    [],
    'begin it with -- compatible, and make what it changes beside what is there (CONTRIBUTING.md, "Releases")',
  );
});

test(`processes of ${release} serve and write beside this program after it has migrated their database`, async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'relata-rolling-'));
  const store = postgresStoreOn(await createDatabase(await findServer(), { isEmpty: true }), dataDir);
  t.after(store.remove);
  const url = store.settings.RELATA_DATABASE_URL ?? '';
  const older = await startProgram({ store, program: main });
  const projectId = await createProject(older);
  await loadBatches(older, { projectId, batches: 1 });
  assert.equal((await search(older, projectId)).status, 200);

  const newer = await startProcess(store);
  const both = [older, newer];
  // A process whose version does not fit the schema refuses writes from its next check on, a second later. Each process
  // commits and answers what both accepted.
  for (let batches = 2; batches <= 7; batches += 1) {
    const [committer, other] = batches % 2 === 0 ? [older, newer] : [newer, older];
    await loadBatches(committer, { projectId, batches, others: [other] });
    const products = batches * PRODUCTS_OF_BATCH;
    assert.deepEqual(await countProducts(url, projectId), [products, products]);
    for (const reader of both) {
      assert.equal((await reader.call('GET', '/health/ready')).status, 200);
      assert.equal((await search(reader, projectId)).body.items?.length, 1);
    }
  }
  assert.equal(await older.stop(), 0);
  await loadBatches(newer, { projectId, batches: 8 });
  assert.equal(older.faults() + newer.faults(), '');
});

const search = (service: ServiceProcess, projectId: number) =>
  service.call('GET', `/search/products?projectId=${projectId}&q=batch&limit=1`);
