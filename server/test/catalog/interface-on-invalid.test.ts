// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

const service = shareService();
const product = (identifier: string, more: object = {}) => ({
  identifier,
  name: `Name of ${identifier}`,
  ...more,
});
/** As Shopware 6 and modified send them. */
const bad = (identifier: string) => ({ identifier, name: null, categories: [{ path: [] }] });
const withPaths = (identifier: string, ...paths: unknown[]) =>
  product(identifier, { categories: paths.map((path) => ({ path })) });

async function upload(catalog: TestCatalog, products: readonly object[], query = '?onInvalid=skip') {
  const answer = await catalog.post(`/products/batch/upload${query}`, { products });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

test('skip stores the valid products and names the invalid ones in the answer and the report (§4.12)', async () => {
  const catalog = await createCatalog(service());
  const products = [
    product('A'),
    bad('B'),
    product('C', { attributes: [{ key: 'K', value: 1 }] }),
    product('D'),
    7,
  ];
  assertRefused(await catalog.post('/products', { products }), 400, 'Your body params are not valid');
  const answer = await catalog.post('/products?onInvalid=skip', { products });
  assert.deepEqual([answer.status, answer.body.nrOfSent, answer.body.nrOfParsed], [200, 5, 2]);
  const named = answer.body.validation.map((violation: { product: object }) => violation.product);
  assert.deepEqual(named, [
    { identifier: 'B', index: 1 },
    { identifier: 'C', index: 2 },
    { identifier: null, index: 4 },
  ]);
  assert.deepEqual(answer.body.validation[1].schemaErrors, ['/attributes/0/value must be string']);
  assert.deepEqual(answer.body.validation[1].errors, answer.body.validation[1].schemaErrors);
  const lines = await catalog.report(await catalog.done(answer));
  assert.deepEqual(
    lines.map(({ code, identifier }) => [code, identifier]),
    [
      ['product_invalid', 'B'],
      ['product_invalid', 'C'],
      ['product_invalid', undefined],
    ],
  );
  assert.deepEqual(await catalog.list(), ['A', 'D']);
});

test('empty names at the end of a category path are dropped, and an empty path is not a category (§4.12 rule 4)', async () => {
  const catalog = await createCatalog(service());
  const products = [
    withPaths('A', ['', 'Tools', 'Drills', ''], [''], []),
    withPaths('B', ['Tools', '', 'Drills']),
    withPaths('C', ['Tools']),
    withPaths('D', ['Tools'], ['', 'Tools', 'Drills']),
  ];
  const answer = await catalog.post('/products?onInvalid=skip', { products });
  assert.equal(answer.body.nrOfParsed, 3);
  const lines = await catalog.report(await catalog.done(answer));
  const reported = lines.map(({ code, identifier }) => `${code} ${identifier}`);
  assert.deepEqual(reported, ['product_invalid B', 'path_mended A', 'path_mended D']);
  const mended = lines.slice(1).map(({ count, message }) => [count, message]);
  const ends = 'empty names at the ends of category paths were dropped';
  assert.deepEqual(mended, [
    [3, `${ends}, and 2 paths without a name`],
    [1, ends],
  ]);
  assert.deepEqual((await catalog.stored('A')).categories, [{ path: ['Tools', 'Drills'] }]);
  assertRefused(await catalog.post('/products', { products: [products[0]] }), 400);
});

test('the project setting onInvalid can be skip, the parameter overrides it, and an unknown value is 400 (§4.12 rule 1)', async () => {
  const catalog = await createCatalog(service(), { onInvalid: 'skip' });
  const products = [product('A'), bad('B')];
  await catalog.done(await catalog.post('/products', { products }));
  assertRefused(await catalog.post('/products?onInvalid=refuse', { products }), 400);
  assertRefused(await catalog.post('/products?onInvalid=ignore', { products }), 400);
  const path = `/management/projects/${catalog.projectId}`;
  assertRefused(await service().call('PATCH', path, { body: { settings: { onInvalid: 'ignore' } } }), 400);
  assert.equal((await service().call('GET', path)).body.settings.onInvalid, 'skip');
  const patched = await catalog.post('/products?partial=1', [
    { identifier: 'A', name: 'new' },
    { identifier: 'A', x: 1 },
  ]);
  assert.equal(patched.body.validation.length, 1);
  await catalog.done(patched);
  assert.equal((await catalog.stored('A')).name, 'new');
  const none = await catalog.post('/products', { products: [bad('X')] });
  assert.deepEqual([none.status, none.body.nrOfParsed], [200, 0]);
  assert.equal((await catalog.done(none)).taskStatus, 'FINISHED');
});

test('a full update leaves products that it could not read unchanged, and the delete guard counts them (§4.12 rule 3)', async () => {
  const catalog = await createCatalog(service(), { maxDeletePercent: 30 });
  await catalog.load(...['A', 'B', 'C', 'D', 'E'].map((identifier) => product(identifier)));
  const before = (await catalog.find('C'))[0];
  await catalog.post('/products/batch/initiate');
  await upload(catalog, [product('A', { name: 'new' }), bad('B'), bad('C'), bad('unknown')]);
  await upload(catalog, [bad('A'), product('B', { name: 'good in a later batch' }), product('F')]);
  assertRefused(await catalog.post('/products/batch/start'), 400, /significantly lower/);
  await upload(catalog, [product('D')]);
  const { body: preview } = await catalog.post('/products/batch/preview');
  assert.deepEqual(preview.deleted, { count: 1, identifiers: ['E'] });
  assert.deepEqual([preview.created.identifiers, preview.unchanged.identifiers], [['F'], ['C', 'D']]);
  await catalog.patch({ identifier: 'C', productUrl: 'https://shop.example/c' });
  const task = await catalog.done(await catalog.post('/products/batch/start'));
  assert.equal(task.taskStatus, 'FINISHED');
  assert.deepEqual(await catalog.list(), ['A', 'B', 'C', 'D', 'F']);
  assert.equal((await catalog.stored('A')).name, 'new', 'the readable batch counts');
  assert.equal((await catalog.stored('B')).name, 'good in a later batch');
  const [after] = await catalog.find('C');
  assert.deepEqual([after.id, after.link], [before.id, 'https://shop.example/c'], 'as it is at the commit');
  const codes = (await catalog.report(task)).filter(({ code }) => code === 'product_invalid');
  assert.equal(codes.length, 4);
  await catalog.done(await catalog.post('/products/batch/restore'));
  assert.deepEqual(await catalog.list(), ['A', 'B', 'C', 'D', 'E']);
});

test('an unreadable product with an identifier of 200 emoji stays unchanged (§4.12 rule 3)', async () => {
  const catalog = await createCatalog(service());
  const identifier = '😀'.repeat(200);
  await catalog.load(product('A'), product(identifier));
  await catalog.post('/products/batch/initiate');
  const { validation } = await upload(catalog, [product('A'), bad(identifier)]);
  assert.equal(validation[0].product.identifier, identifier);
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await catalog.list(), ['A', identifier]);
});

test('a full update of invalid products only is refused (§4.4 rule 15)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'));
  await catalog.post('/products/batch/initiate');
  await upload(catalog, [bad('A')]);
  assertRefused(await catalog.post('/products/batch/start'), 400, /has no products/);
});
