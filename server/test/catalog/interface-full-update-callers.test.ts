// runs: test, postgres deep, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { assertRefused, createCatalog, shareService, type TestCatalog } from '../support/shared-service.ts';

const service = shareService();

const product = (identifier: string, name = identifier) => ({ identifier, name });
const started = (answer: { body: { data: { task: { id: string } } } }) => answer.body.data.task.id;

/** A caller with a key of its own. */
async function createCaller(catalog: TestCatalog) {
  const scope = { type: 'project', id: catalog.projectId };
  const body = { name: 'Another shop', scope, access: 'write' };
  const { status, body: made } = await service().call('POST', '/management/api-keys', { body });
  assert.equal(status, 201, JSON.stringify(made));
  const call = (method: string, path: string, sent?: unknown) =>
    catalog.call(method, path, { key: made.key, ...(sent !== undefined && { body: sent }) });
  return {
    call,
    uploadPacked: (body: Uint8Array) => {
      const headers = { 'content-encoding': 'gzip' };
      return catalog.call('POST', '/products/batch/upload', { key: made.key, headers, body });
    },
    initiate: () => call('POST', '/products/batch/initiate'),
    upload: (...products: object[]) => call('POST', '/products/batch/upload', products),
    start: (query = '') => call('POST', `/products/batch/start${query}`),
  };
}

async function createTwoCallers() {
  const catalog = await createCatalog(service());
  return { catalog, a: await createCaller(catalog), b: await createCaller(catalog) };
}

test('each call for a session that another key replaced is refused with that reason, and the new session is unchanged (§4.4 rule 33)', async () => {
  const { catalog, a, b } = await createTwoCallers();
  const first = (await a.initiate()).body.fullUpdateId;
  assert.equal((await a.upload(product('A1'))).status, 200);
  const second = (await b.initiate()).body.fullUpdateId;
  const calls = [
    () => a.upload(product('A2')),
    () => a.start(),
    () => a.call('POST', '/products/batch/preview'),
    () => a.call('GET', '/products/batch/preview/deleted'),
    () => a.call('GET', '/products/batch'),
    () => a.call('DELETE', '/products/batch'),
    () => a.call('POST', `/products/batch/upload?fullUpdateId=${first}`, [product('A2')]),
    () => a.start(`?fullUpdateId=${first}`),
  ];
  const refuseAll = async () => {
    for (const send of calls) {
      const answer = await send();
      assertRefused(answer, 400, new RegExp(`${first}\\b.* was replaced by full update ${second}\\b`));
      assert.equal(answer.body.reason, 'full_update_replaced');
    }
  };
  await refuseAll();
  await a.call('POST', '/products/batch/upload', '{"broken');
  assert.equal((await b.upload(product('B1'))).status, 200);
  await refuseAll();
  await a.call('POST', '/products/batch/upload', '{"broken');
  const { body } = await b.call('GET', '/products/batch');
  assert.deepEqual([body.batches, body.arriving, body.lastBatch], [1, 0, 'accepted']);
  await catalog.done(await b.start());
  await refuseAll();
  assert.deepEqual(await catalog.list(), ['B1']);
});

test('a start does not return the task of a commit that another key started (§4.4 rule 33)', async () => {
  const { catalog, a, b } = await createTwoCallers();
  await b.initiate();
  await b.upload(product('B1'));
  assertRefused(await a.start(), 400, /another key or user initiated it/);
  assertRefused(await a.upload(product('A1')), 400, /another key or user initiated it/);
  await catalog.done(await b.start());
  assertRefused(await a.start(), 400, /No full update is open/);
  assert.deepEqual(await catalog.list(), ['B1']);
});

test('a repeated start returns the task of its own commit, even while another key has a session open (§4.4 rules 17 and 33)', async () => {
  const { catalog, a, b } = await createTwoCallers();
  await a.initiate();
  await a.upload(product('A1'));
  const first = await a.start();
  await catalog.done(first);
  await b.initiate();
  await b.upload(product('B1'));
  assert.equal(started(await a.start()), started(first));
  assert.equal((await b.call('GET', '/products/batch')).status, 200, 'the other session is still open');
  assert.deepEqual(await catalog.list(), ['A1']);
});

test('a caller that names a session with fullUpdateId may continue it with another key (§4.4 rule 33)', async () => {
  const { catalog, a, b } = await createTwoCallers();
  const { fullUpdateId } = (await a.initiate()).body;
  await a.upload(product('A1'));
  const session = `?fullUpdateId=${fullUpdateId}`;
  assert.equal((await b.call('POST', `/products/batch/upload${session}`, [product('A2')])).status, 200);
  assert.equal((await b.call('GET', '/products/batch')).body.batches, 2, 'any caller may read it');
  await catalog.done(await b.start(session));
  assert.deepEqual(await catalog.list(), ['A1', 'A2']);
});

test('a repeated start whose counts or deletes differ from those of the commit is refused (§4.4 rules 17, 23 and 29)', async () => {
  const { catalog, a } = await createTwoCallers();
  await catalog.load(product('X1'), product('X2'));
  await a.initiate();
  await a.upload(product('A1'));
  const first = await a.start('?batches=1&products=1');
  const check = async () => {
    assertRefused(await a.start('?batches=7'), 400, /has 1 batches, but the request states 7/);
    assertRefused(await a.start('?products=99'), 400, /has 1 products, but the request states 99/);
    assertRefused(await a.start('?batches=1&products=99'), 400, /has 1 products, but the request states 99/);
    const repeated = await a.start('?batches=1&products=1');
    assert.equal(started(repeated), started(first));
  };
  await check();
  await catalog.done(first);
  await check();
  assertRefused(await a.start('?allowDeletes=55'), 400, /would delete 2 products, but allowDeletes is 55/);
  assert.equal(started(await a.start('?allowDeletes=2')), started(first));
});

test('a batch that repeats another batch byte for byte counts once, packed or not (§4.4 rule 29)', async () => {
  const { catalog, a } = await createTwoCallers();
  await a.initiate();
  const batch = JSON.stringify([product('A1'), product('A2')]);
  const packed = (level: number) => a.uploadPacked(gzipSync(batch, { level }));
  const answers = [await a.call('POST', '/products/batch/upload', batch), await packed(1), await packed(9)];
  for (const { status } of answers) assert.equal(status, 200);
  await a.upload(product('A3'));
  const { body } = await a.call('GET', '/products/batch');
  assert.deepEqual([body.batches, body.products], [2, 3]);
  assertRefused(await a.start('?batches=4'), 400, /has 2 batches, but the request states 4/);
  await catalog.done(await a.start('?batches=2&products=3'));
  assert.deepEqual(await catalog.list(), ['A1', 'A2', 'A3']);
});

test('a batch with the same products in other bytes counts as another batch (§4.4 rule 29)', async () => {
  const { catalog, a } = await createTwoCallers();
  await a.initiate();
  await a.upload(product('A1'));
  await a.call('POST', '/products/batch/upload', { products: [product('A1')] });
  await catalog.done(await a.start('?batches=2&products=2'));
});
