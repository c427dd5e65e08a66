// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createPostgresPasses } from '../../src/relations/relation-store/postgres/postgres.ts';
import type { CatalogPasses } from '../../src/relations/relation-store/relation-store.ts';
import { createSqlitePasses } from '../../src/relations/relation-store/sqlite/sqlite.ts';
import { CatalogFiles } from '../../src/storage/sqlite/sqlite.ts';
import { createRelationCatalog, product } from '../support/relations/relation-catalog.ts';
import { shareService } from '../support/shared-service.ts';

const service = shareService();

const MIB = 1024 * 1024;
/** About 1.2 MB. */
const TEXTS = Object.fromEntries(
  Array.from({ length: 40 }, (_, index) => [`Text ${index}`, 'x'.repeat(30_000)]),
);
const LARGE = 24;
const SMALL = 300;

async function openPasses(): Promise<{ passes: CatalogPasses; close(): Promise<void> }> {
  const { kind, dataDir } = service().store;
  if (kind === 'postgres') {
    const { postgres, close } = await service().store.open();
    assert.ok(postgres);
    return { passes: createPostgresPasses(postgres), close };
  }
  const files = new CatalogFiles(join(dataDir, 'catalogs'));
  return { passes: createSqlitePasses(files), close: async () => files.closeAll() };
}

test('a build reads large products a few megabytes at a time, and ordinary ones by count (§16.3)', async (t) => {
  const catalog = await createRelationCatalog(service());
  const nameOf = (kind: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${kind}${1_000 + index}`);
  const large = nameOf('L', LARGE);
  const small = nameOf('S', SMALL);
  await catalog.load(
    ...large.map((identifier) => product(identifier, 'Books', TEXTS)),
    ...small.map((identifier) => product(identifier, 'Pens')),
  );
  const { passes, close } = await openPasses();
  t.after(close);
  const pages = await passes.pass(catalog.projectId, async (pass) => {
    const read: { bytes: number; identifiers: string[] }[] = [];
    for (let page = await pass.listUploads(0, 200); page.length > 0; ) {
      const bytes = page.reduce((sum, { raw }) => sum + raw.length, 0);
      read.push({ bytes, identifiers: page.map(({ raw }) => JSON.parse(raw).identifier) });
      page = await pass.listUploads(page.at(-1)?.productId ?? 0, 200);
    }
    return read;
  });
  assert.deepEqual(
    pages.flatMap(({ identifiers }) => identifiers),
    [...large, ...small],
  );
  for (const { bytes } of pages) assert.ok(bytes < 12 * MIB, `${bytes} bytes`);
  const last = pages.at(-1)?.identifiers.length ?? 0;
  assert.ok(pages.length <= 9 && last > 90, `${pages.length} pages, the last one of ${last}`);
});
