// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createBackup, restoreBackup } from '../../src/backup/backup.ts';
import { takeBack } from '../support/earlier-schema.ts';
import { readStore, useStore } from '../support/earlier-stores/content.ts';
import {
  listReleases,
  type PackedStore,
  readPacked,
  unpack,
} from '../support/earlier-stores/packed-store.ts';
import { startTestService } from '../support/test-service.ts';
import { embeddedOnly, embeddedStoreAt, testedStore } from '../support/test-store.ts';

/**
 * This program opens the store of each release (docs/operating/install.md, "Upgrade"). newer-files.test.ts and postgres-schema.test.ts cover
 * the other direction: an older program refuses newer data, in one line.
 */

const ofFiles = embeddedOnly('PostgreSQL is backed up with its own tools');

/** Restores a backup and compares this program's answers from it with those of the release. */
async function assertServed(t: TestContext, backup: string, packed: PackedStore): Promise<void> {
  const dataDir = `${backup}-restored`;
  await restoreBackup(backup, dataDir);
  const service = await startTestService(t, { store: embeddedStoreAt(dataDir) });
  assert.partialDeepStrictEqual(await readStore(service, packed.remembered), packed.answers);
  // The backup may be older than the last batch, so the commit has to state the number of batches.
  await useStore(service, packed.remembered, '&batches=1');
}

for (const release of listReleases()) {
  test(`a backup of the store of ${release} needs no catalog to be read first`, ofFiles, async (t) => {
    const packed = readPacked(release, testedStore);
    const store = await unpack(packed);
    t.after(store.remove);
    const folder = await mkdtemp(join(tmpdir(), 'relata-earlier-backup-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    await createBackup(store.dataDir, join(folder, 'stopped'));
    await assertServed(t, join(folder, 'stopped'), packed);
    // The start upgrades the control database, and leaves catalogs to their first reader.
    await startTestService(t, { store });
    await createBackup(store.dataDir, join(folder, 'idle'));
    await assertServed(t, join(folder, 'idle'), packed);
  });

  test(`this program serves the store of ${release} as that release did`, async (t) => {
    const packed = readPacked(release, testedStore);
    const store = await unpack(packed);
    t.after(store.remove);
    const service = await startTestService(t, { store });
    const answers = await readStore(service, packed.remembered);
    // The answers of the release lack fields that were added later.
    assert.partialDeepStrictEqual(answers, packed.answers);
    await useStore(service, packed.remembered);
  });
}

for (const before of ['batches', 'paths'] as const) {
  test(
    `a backup includes a catalog that was not opened since an upgrade from before ${before}`,
    ofFiles,
    async (t) => {
      const service = await startTestService(t);
      const { projectId, store } = service;
      await service.loadCatalog([{ identifier: 'A', name: 'One' }]);
      await service.stop();
      await takeBack(store, projectId, { before });
      const folder = await mkdtemp(join(tmpdir(), 'relata-earlier-backup-'));
      t.after(() => rm(folder, { recursive: true, force: true }));
      const backup = join(folder, 'backup');
      await createBackup(store.dataDir, backup);
      await restoreBackup(backup, join(folder, 'restored'));
      const restored = await startTestService(t, { store: embeddedStoreAt(join(folder, 'restored')) });
      assert.equal((await restored.lookUp(['A'], projectId))[0]?.name, 'One');
    },
  );
}
