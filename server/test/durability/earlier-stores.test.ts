import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readStore, useStore } from '../support/earlier-stores/content.ts';
import { listReleases, readPacked, unpack } from '../support/earlier-stores/packed-store.ts';
import { startTestService } from '../support/test-service.ts';
import { testedStore } from '../support/test-store.ts';

/**
 * The store of each release is opened by this program (docs/operating.md, "Upgrade"). newer-files.test.ts and postgres-schema.test.ts
 * are about the other direction: an older program refuses what a newer one wrote, in one line.
 */

for (const release of listReleases()) {
  test(`this program serves the store of ${release} as that release did`, async (t) => {
    const packed = readPacked(release, testedStore);
    const store = await unpack(packed);
    t.after(store.remove);
    const service = await startTestService(t, { store });
    const answers = await readStore(service, packed.remembered);
    // Fields that came later are not in what the release answered.
    assert.partialDeepStrictEqual(answers, packed.answers);
    await useStore(service, packed.remembered);
  });
}
