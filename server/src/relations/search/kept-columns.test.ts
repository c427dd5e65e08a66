import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptColumns } from './kept-columns.ts';
import { WorkLimit } from './work-limit.ts';

/** A catalog that counts how often its products are read. */
function openCatalog(products: number) {
  const catalog = {
    version: 1,
    products,
    reads: 0,
    readVersion: async () => catalog.version,
    async listUploads(after: number, limit: number) {
      if (after === 0) catalog.reads += 1;
      return Array.from({ length: Math.max(0, Math.min(limit, catalog.products - after)) }, (_, at) => {
        const productId = after + at + 1;
        return { productId, document: productId, raw: describe(`P${productId}`) };
      });
    },
  };
  return catalog;
}

const describe = (identifier: string) =>
  JSON.stringify({
    ...{ identifier, groupIdentifier: identifier, name: 'A product', productUrl: '', images: [] },
    ...{ categories: [{ path: ['Parts'] }], attributes: [{ key: 'Size', value: identifier }] },
  });

const FOREVER = new WorkLimit(Number.POSITIVE_INFINITY);
const LARGE = 2_500;

test('a version of a catalog is read once, the next one again', async () => {
  const [kept, catalog, other] = [new KeptColumns(), openCatalog(LARGE), openCatalog(3)];
  const read = async (projectId: number, of: typeof catalog) =>
    (await kept.read(projectId, of, FOREVER))?.count;
  assert.deepEqual([await read(1, catalog), await read(2, other), await read(1, catalog)], [LARGE, 3, LARGE]);
  catalog.version = 2;
  catalog.products = 7;
  assert.deepEqual([await read(1, catalog), await read(1, catalog), await read(2, other)], [7, 7, 3]);
  assert.deepEqual([catalog.reads, other.reads], [2, 1]);
});

test('a catalog beyond the bound is not kept, and not read in vain for each of its versions', async () => {
  const [kept, catalog] = [new KeptColumns({ mostBytes: 100_000 }), openCatalog(LARGE)];
  for (catalog.version = 1; catalog.version < 4; catalog.version += 1)
    assert.equal(await kept.read(1, catalog, FOREVER), undefined);
  assert.equal(catalog.reads, 1);
});

test('catalogs that are too much together go in the order in which they were used', async () => {
  const kept = new KeptColumns({ mostBytes: 2_000_000 });
  const catalogs = [1, 2, 3].map(() => openCatalog(LARGE));
  const read = (at: number) => kept.read(at, catalogs[at] as (typeof catalogs)[number], FOREVER);
  for (const at of [0, 1, 0, 2, 0, 1]) await read(at);
  assert.deepEqual(
    catalogs.map(({ reads }) => reads),
    [1, 2, 1],
  );
});

test('what nobody uses for a while goes', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const [kept, catalog] = [new KeptColumns({ idleMs: 60_000 }), openCatalog(3)];
  for (const wait of [0, 59_999, 59_999, 60_000]) {
    t.mock.timers.tick(wait);
    await kept.read(1, catalog, FOREVER);
  }
  assert.equal(catalog.reads, 2);
});
