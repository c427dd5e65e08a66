// runs: test
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Filter } from '../../catalog/filters/filters.ts';
import { Budget } from '../../storage/threads/threads.ts';
import { bindRule } from '../rules/rules.ts';
import { ColumnCache } from './column-cache.ts';
import { RuleMembers } from './rule-members.ts';
import { tryOnColumns } from './tried-columns.ts';
import { listWords } from './upload-pages.ts';

/** A catalog that counts how often its products are read. */
function openCatalog(products: number) {
  const catalog = {
    version: 1,
    products,
    reads: 0,
    async listUploads(after: number, limit: number) {
      if (after === 0) catalog.reads += 1;
      return Array.from({ length: Math.max(0, Math.min(limit, catalog.products - after)) }, (_, index) => {
        const productId = after + index + 1;
        return { productId, document: productId, updatedAt: 0, raw: describe(`P${productId}`) };
      });
    },
  };
  return catalog;
}

const describe = (identifier: string) =>
  JSON.stringify({
    identifier,
    groupIdentifier: identifier,
    name: 'A product',
    productUrl: '',
    images: [],
    categories: [{ path: ['Parts'] }],
    attributes: [{ key: 'Size', value: identifier }],
  });

const FOREVER = Budget.unlimited();
const LARGE = 2_500;

test('each version of a catalog is read once', async () => {
  const [cache, catalog, other] = [new ColumnCache(), openCatalog(LARGE), openCatalog(3)];
  const read = async (projectId: number, of: typeof catalog) =>
    (await cache.read(projectId, of, { limit: FOREVER }))?.count;
  assert.deepEqual([await read(1, catalog), await read(2, other), await read(1, catalog)], [LARGE, 3, LARGE]);
  catalog.version = 2;
  catalog.products = 7;
  assert.deepEqual([await read(1, catalog), await read(1, catalog), await read(2, other)], [7, 7, 3]);
  assert.deepEqual([catalog.reads, other.reads], [2, 1]);
});

test('only products that can be on the sides of a rule are cached, and the next rules reuse them (§12.6 rule 3)', async () => {
  const categories = ['Bolts', 'Frames', 'Nuts \u00e9', 'Washers'];
  const uploads = Array.from({ length: LARGE }, (_, index) => ({
    productId: index + 1,
    document: index + 1,
    updatedAt: 0,
    raw: JSON.stringify({
      ...JSON.parse(describe(`P${index}`)),
      categories: [{ path: ['Parts', categories[index % 4]] }],
    }).replace('\u00e9', '\\u00e9'),
  }));
  let reads = 0;
  const catalog = {
    version: 1,
    async listUploads(after: number, limit: number) {
      if (after === 0) reads += 1;
      return uploads.slice(after, after + limit);
    },
  };
  const cache = new ColumnCache();
  const of = (name: string) => ({ category: ['Parts', name] });
  const read = async (source: Filter, target: Filter) => {
    const words = listWords(source, target);
    const columns = await cache.read(1, catalog, { limit: FOREVER, words });
    const paths = Array.from(
      { length: columns?.count ?? 0 },
      (_, index) => columns?.categoriesOf(index)[0]?.path[1],
    );
    return [...new Set(paths)].sort();
  };
  const escaped = 'Nuts \u00e9';
  assert.deepEqual(await read(of('Bolts'), of('Frames')), ['Bolts', 'Frames', escaped]);
  const some = { all: [{ not: of('Nuts') }, { any: [of('Frames'), of('Bolts')] }] };
  assert.deepEqual(await read(some, of('Bolts')), ['Bolts', 'Frames', escaped]);
  assert.equal(reads, 1);
  assert.deepEqual(await read(of('Bolts'), of('Washers')), categories);
  assert.deepEqual(await read(of('Frames'), of('Washers')), categories);
  assert.equal(reads, 2);
  assert.deepEqual(await read(of('Frames'), { not: of('Washers') }), categories);
  assert.deepEqual(await read({ all: [] }, of('Bolts')), categories);
  assert.equal(reads, 2, 'other products are read together with all products');
});

test('a catalog beyond the limit is not cached, and its next versions are not read', async () => {
  const [cache, catalog] = [new ColumnCache({ mostBytes: 100_000 }), openCatalog(LARGE)];
  for (catalog.version = 1; catalog.version < 4; catalog.version += 1)
    assert.equal(await cache.read(1, catalog, { limit: FOREVER }), undefined);
  assert.equal(catalog.reads, 1);
});

test('catalogs beyond the common limit are evicted in the order of their last use', async () => {
  const cache = new ColumnCache({ mostBytes: 2_000_000 });
  const catalogs = [1, 2, 3].map(() => openCatalog(LARGE));
  const read = (index: number) =>
    cache.read(index, catalogs[index] as (typeof catalogs)[number], { limit: FOREVER });
  for (const project of [0, 1, 0, 2, 0, 1]) await read(project);
  assert.deepEqual(
    catalogs.map(({ reads }) => reads),
    [1, 2, 1],
  );
});

test('catalogs that are not used for a while are evicted', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const [cache, catalog] = [new ColumnCache({ idleMs: 60_000 }), openCatalog(3)];
  for (const wait of [0, 59_999, 59_999, 60_000]) {
    t.mock.timers.tick(wait);
    await cache.read(1, catalog, { limit: FOREVER });
  }
  assert.equal(catalog.reads, 2);
});

/** Tries a rule on pairs of a frame and a bolt. `sizeOf` returns the common size of a pair. */
async function tryPairs(sizeOf: (pair: number) => string, mostBytes: number) {
  const uploads = Array.from({ length: 2 * LARGE }, (_, index) => {
    const size = sizeOf(index >> 1);
    const product = {
      ...JSON.parse(describe(`P${index}`)),
      categories: [{ path: [index % 2 === 0 ? 'Frames' : 'Bolts'] }],
      attributes: [{ key: 'Size', value: size }],
    };
    return {
      productId: index + 1,
      document: index + 1,
      updatedAt: 0,
      identifier: `P${index}`,
      raw: JSON.stringify(product),
    };
  });
  const catalog = {
    listUploads: async (after: number, limit: number) => uploads.slice(after, after + limit),
    findUploads: async (identifiers: readonly string[]) =>
      uploads.filter(({ identifier }) => identifiers.includes(identifier)).reverse(),
  };
  const match = [{ target: 'Size', operator: 'equals', source: 'Size' }] as const;
  const rule = { source: { category: ['Frames'] }, target: { category: ['Bolts'] }, match, sort: [] };
  const result = bindRule(rule, [{ id: 1, name: 'Size', type: 'TEXT_ATTRIBUTE' }]);
  assert.ok('bound' in result);
  const { bound } = result;
  const { columns, counts } = await RuleMembers.read(catalog, bound, { limit: FOREVER, mostBytes });
  const read = { columns, counts, catalog, share: <Item>(_: string, make: () => readonly Item[]) => make() };
  const survey = await tryOnColumns(
    read,
    { bound, twoWay: false, excludeSameGroup: true },
    { limit: FOREVER, searchMs: 600_000 },
  );
  return { survey, bytes: columns.bytes };
}

test('a sample for a large rule keeps matching products together and counts all products (§12.6 rule 3)', async () => {
  const whole = await tryPairs((pair) => `${pair}`, 10_000_000);
  assert.deepEqual([whole.survey.sampled, whole.survey.withResults], [false, LARGE]);
  const { survey, bytes } = await tryPairs((pair) => `${pair}`, whole.bytes / 4);
  assert.ok(bytes <= whole.bytes / 4, `${bytes} of ${whole.bytes}`);
  assert.deepEqual([survey.source.products, survey.target.products], [LARGE, LARGE]);
  assert.deepEqual([survey.sampled, survey.share], [true, 1]);
  assert.ok(
    survey.sampledSources > LARGE / 16 && survey.sampledSources < LARGE / 2,
    `${survey.sampledSources}`,
  );
});

test('a sample for a large rule with few values has a part of the products of each value (§12.6 rule 3)', async () => {
  const whole = await tryPairs((pair) => `${pair % 3}`, 10_000_000);
  const { survey, bytes } = await tryPairs((pair) => `${pair % 3}`, whole.bytes / 4);
  assert.ok(bytes <= whole.bytes / 4, `${bytes} of ${whole.bytes}`);
  assert.deepEqual([survey.source.products, survey.target.products], [LARGE, LARGE]);
  assert.deepEqual([survey.sampled, survey.share], [true, 1]);
});
