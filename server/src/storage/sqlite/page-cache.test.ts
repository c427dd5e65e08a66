// runs: test (not on postgres: the pages that SQLite keeps)
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { shareOfFile } from './page-cache.ts';
import { type CatalogFile, CatalogFiles } from './sqlite.ts';

const MIB = 1024;
const kibOf = ({ database }: CatalogFile): number =>
  -Number((database.prepare('pragma cache_size').get() as { cache_size: number }).cache_size);

test('the open catalogs of a thread share the memory for their pages', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-pages-'));
  const catalogs = join(folder, 'catalogs');
  mkdirSync(catalogs);
  const files = new CatalogFiles(catalogs);
  t.after(() => {
    files.closeAll();
    rmSync(folder, { recursive: true });
  });
  const opened = [files.open(1)];
  assert.deepEqual(opened.map(kibOf), [32 * MIB], 'a single catalog may use the whole cache');
  for (let projectId = 2; projectId <= 64; projectId += 1) opened.push(files.open(projectId));
  const sum = opened.map(kibOf).reduce((all, kib) => all + kib, 0);
  assert.ok(sum <= 64 * MIB, `${sum} KiB`);

  const [first] = opened as [CatalogFile];
  const inside = first.transaction(() => kibOf(first));
  assert.deepEqual([inside, kibOf(first)], [32 * MIB, MIB], 'a transaction may use the whole cache');
  assert.throws(() =>
    first.transaction(() => {
      throw new Error('rolled back');
    }),
  );
  assert.equal(kibOf(first), MIB);
  for (let projectId = 2; projectId <= 64; projectId += 1) files.close(projectId);
  assert.equal(kibOf(first), 32 * MIB, 'the share grows when other catalogs are closed');
});

test('a worker thread caches at most 16 MiB of pages, or 1 MiB of each catalog', () => {
  const totals = Array.from({ length: 64 }, (_, index) => (index + 1) * shareOfFile(index + 1, 16 * MIB));
  assert.equal(Math.max(...totals), 64 * MIB);
  assert.ok(totals.slice(0, 16).every((kib) => kib <= 16 * MIB));
});
