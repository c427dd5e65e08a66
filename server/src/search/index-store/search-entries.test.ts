// runs: test (not on postgres: the index of FTS5; PostgreSQL has another)
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { changeCatalog } from '../../catalog/store/store.ts';
import { CatalogFiles } from '../../storage/sqlite/sqlite.ts';
import { walkSearch } from './index-walk-store.ts';

/** Enough products for the tidying of two versions, which begins after a quarter of the entries and 10,000 more. */
const PRODUCTS = 11_000;

test('tidying removes dead entries in short steps, and leaves every sixteenth neighbour for the next time', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-entries-'));
  const files = new CatalogFiles(folder);
  t.after(() => {
    files.closeAll();
    rmSync(folder, { recursive: true });
  });
  const file = files.open(1);
  const insert = file.prepare(
    `insert into document (id, product_id, former_answer, raw) values (?, ?, x'', ?)`,
  );
  const list = () => file.prepare('select document_id as id from search_entry order by 1').all();
  const countEntries = () => Number(file.prepare('select count(*) as count from search_entry').get()?.count);

  const step = () => file.transaction(() => file.perform(changeCatalog((state) => walkSearch(state, {}))));

  /** @returns the most entries that one step removed */
  function replaceAll(version: number): number {
    file.transaction(() => {
      file.prepare('delete from document').run();
      for (const id of idsOf(version)) insert.run(id, id - version * PRODUCTS, describe(id, version));
    });
    let most = 0;
    for (let isMore = true; isMore; ) {
      const before = countEntries();
      const { isComplete, isTidy } = step();
      most = Math.max(most, before - countEntries());
      isMore = !isComplete || !isTidy;
    }
    return most;
  }
  const idsOf = (version: number) =>
    Array.from({ length: PRODUCTS }, (_, index) => version * PRODUCTS + index + 1);
  const listed = () => list().map(({ id }) => id);
  const staying = (ids: readonly number[]) => ids.filter((id) => id % 16 === 0);
  const count = (word: string) =>
    file.prepare('select count(*) as count from search_lexeme where search_lexeme match ?').get(`"a${word}"`)
      ?.count;

  step();
  assert.equal(replaceAll(0), 0);
  const most = replaceAll(1);
  assert.ok(most > 0 && most <= 500, `a step removed ${most} entries`);
  assert.deepEqual(listed(), [...staying(idsOf(0)), ...idsOf(1)]);
  assert.equal(count('v0'), staying(idsOf(0)).length);
  replaceAll(2);
  replaceAll(3);
  assert.deepEqual(listed(), [...staying([...idsOf(1), ...idsOf(2)]), ...idsOf(3)]);
  assert.equal(count('v0'), 0);
  assert.equal(count('v3'), PRODUCTS);
});

function describe(id: number, version: number): string {
  const name = `Product ${id} v${version}`;
  return JSON.stringify({
    identifier: `P-${id}`,
    groupIdentifier: 'g',
    name,
    categories: [],
    images: [],
    attributes: [],
  });
}
