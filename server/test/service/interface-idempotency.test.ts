// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { assertRefused, createCatalog, shareService } from '../support/shared-service.ts';
import { TestClock } from '../support/test-service.ts';

const clock = new TestClock();
const service = shareService({ clock });

const product = (identifier: string, more: object = {}) => ({ identifier, name: identifier, ...more });
const once = (key: string) => ({ 'idempotency-key': key });

test('a repeated update gets the first answer and is done once (§7.5 rule 2)', async () => {
  const catalog = await createCatalog(service());
  const send = () => catalog.post('/products', [product('A')], once('update'));
  const first = await send();
  await catalog.done(first);
  await catalog.patch({ identifier: 'A', name: 'later' });
  const second = await send();
  assert.deepEqual([second.status, second.body], [first.status, first.body]);
  assert.equal((await catalog.find('A'))[0].name, 'later');
  assert.equal((await catalog.tasks()).length, 2);
});

test('repetitions at the same time are done once (§7.5 rule 2)', async () => {
  const catalog = await createCatalog(service());
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => catalog.post('/products', [product('A')], once('parallel'))),
  );
  assert.equal(new Set(answers.map(({ body }) => JSON.stringify(body))).size, 1);
  assert.equal((await catalog.tasks()).length, 1);
});

test('the same key with another body, path, mode or project is not a repetition: 422 (§7.5 rule 3)', async () => {
  const catalog = await createCatalog(service());
  const other = await createCatalog(service());
  await catalog.done(await catalog.post('/products', [product('A')], once('other')));
  assertRefused(await catalog.post('/products', [product('B')], once('other')), 422);
  assertRefused(await catalog.post('/products?partial=true', [product('A')], once('other')), 422);
  assertRefused(await other.post('/products', [product('A')], once('other')), 422);
  assertRefused(await catalog.call('DELETE', '/products', { body: ['A'], headers: once('other') }), 422);
  assert.deepEqual(await catalog.list(), ['A']);
  assert.deepEqual(await other.tasks(), []);
});

test('a refused request may be corrected and sent again under its key (§7.5)', async () => {
  const catalog = await createCatalog(service());
  assertRefused(await catalog.post('/products', [{}], once('refused')), 400);
  await catalog.done(await catalog.post('/products', [product('A')], once('refused')));
  assert.deepEqual(await catalog.list(), ['A']);
});

test('a key can be used for another request after 24 hours (§7.5 rule 2)', async () => {
  const catalog = await createCatalog(service());
  const send = async () => (await catalog.post('/products', [product('A')], once('old'))).body.task.id;
  const first = await send();
  clock.pass(24 * 3_600_000 - 1);
  assert.equal(await send(), first);
  clock.pass(1);
  assert.notEqual(await send(), first);
});

test('a repeated delete is neither done nor recorded again (§7.5 rule 2, §14.4)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'), product('B'));
  const send = () => catalog.call('DELETE', '/products', { body: ['A'], headers: once('delete') });
  const first = await send();
  await catalog.done(first);
  await catalog.update(product('A'));
  assert.deepEqual((await send()).body, first.body);
  assert.deepEqual(await catalog.list(), ['A', 'B']);
  const { body } = await service().call('GET', '/management/audit-log?limit=1000');
  const entries = body.items.filter(
    ({ action, subject }: { action: string; subject: { id: number } }) =>
      action === 'products.deleted' && subject.id === catalog.projectId,
  );
  assert.equal(entries.length, 1);
});

test('a delete is recognised as repeated even if the identifiers of its query no longer exist (§7.5 rule 2)', async () => {
  const catalog = await createCatalog(service());
  await catalog.load(product('A'), product('B'), product('A,B'));
  const send = () => catalog.call('DELETE', '/products?identifiers=A,B', { headers: once('joined') });
  const first = await send();
  await catalog.done(first);
  assert.deepEqual(await catalog.list(), ['A', 'B']);
  const second = await send();
  assert.deepEqual([second.status, second.body], [200, first.body]);
});

test('every step of a full update may be repeated (§7.5 rule 1)', async () => {
  const catalog = await createCatalog(service());
  const twice = async (path: string, body?: unknown) => {
    const answers = [1, 2].map(() => catalog.post(path, body, once(path)));
    const [first, second] = await Promise.all(answers);
    const third = await catalog.post(path, body, once(path));
    assert.equal(first?.status, 200, JSON.stringify(first?.body));
    assert.deepEqual([second?.body, third.body], [first?.body, first?.body]);
    return third;
  };
  await twice('/products/batch/initiate');
  const batch = [product('A')];
  await twice('/products/batch/upload', batch);
  assert.equal((await catalog.tasks()).length, 1);
  const again = await catalog.post('/products/batch/initiate', undefined, once('/products/batch/initiate'));
  assert.equal(again.status, 200);
  assert.equal((await catalog.tasks())[0].taskStatus, 'PENDING', 'a late repetition discards nothing');
  await catalog.done(await twice('/products/batch/start'));
  assert.deepEqual(await catalog.list(), ['A']);
  await catalog.done(await twice('/products/batch/restore'));
  assert.deepEqual(await catalog.list(), []);
});

test('a replayed upload or initiate is refused if its session is no longer open, and nothing is lost (§7.5 rule 14)', async () => {
  for (const end of ['start', 'give up', 'replace'] as const) {
    const catalog = await createCatalog(service());
    const initiate = () => catalog.post('/products/batch/initiate', undefined, once(`initiate ${end}`));
    const upload = () => catalog.post('/products/batch/upload', [product('A')], once(`first ${end}`));
    const { fullUpdateId } = (await initiate()).body;
    assert.equal((await upload()).status, 200);
    if (end === 'start') await catalog.done(await catalog.post('/products/batch/start'));
    if (end === 'give up') await catalog.call('DELETE', '/products/batch');
    if (end !== 'replace') assertRefused(await upload(), 400, new RegExp(`full update ${fullUpdateId}\\b`));
    await catalog.post('/products/batch/initiate');
    const refused = [await upload(), await initiate()];
    for (const answer of refused) {
      assertRefused(answer, 400, new RegExp(`full update ${fullUpdateId}, which is no longer open`));
      assert.equal(answer.body.reason, 'full_update_ended');
    }
    assertRefused(await catalog.post('/products/batch/start'), 400);
    assert.equal(
      (await catalog.post('/products/batch/upload', [product('A')], once(`second ${end}`))).status,
      200,
    );
    await catalog.done(await catalog.post('/products/batch/start'));
    assert.deepEqual(await catalog.list(), ['A'], end);
  }
});

test('a replayed start is refused once its caller has begun another session (§7.5 rule 14)', async () => {
  const catalog = await createCatalog(service());
  const start = () => catalog.post('/products/batch/start', undefined, once('start'));
  await catalog.post('/products/batch/initiate');
  await catalog.post('/products/batch/upload', [product('A')]);
  const first = await start();
  await catalog.done(first);
  assert.deepEqual((await start()).body, first.body);
  await catalog.post('/products/batch/initiate');
  await catalog.post('/products/batch/upload', [product('B')]);
  assertRefused(await start(), 400, /no longer open/);
  await catalog.done(await catalog.post('/products/batch/start'));
  assert.deepEqual(await catalog.list(), ['B']);
});

test('a body that is packed again is the same request, and other content is not (§7.5 rule 4)', async () => {
  const catalog = await createCatalog(service());
  const body = JSON.stringify([product('A')]);
  const send = (key: string, sent: string | Uint8Array, encoding?: string) =>
    catalog.call('POST', '/products', {
      body: sent,
      headers: { ...once(key), ...(encoding && { 'content-encoding': encoding }) },
    });
  const packed = gzipSync(body);
  const later = Buffer.from(packed);
  later.writeUInt32LE(1_800_000_000, 4);
  assert.notDeepEqual(packed, later, 'the header has another time');
  const answers = [
    await send('packed', packed, 'gzip'),
    await send('packed', later, 'gzip'),
    await send('packed', gzipSync(body, { level: 0 }), 'gzip'),
    await send('packed', brotliCompressSync(body), 'br'),
    await send('packed', body),
  ];
  for (const { status, body: answer } of answers) assert.deepEqual([status, answer], [200, answers[0]?.body]);
  assertRefused(await send('packed', gzipSync(`${body} `), 'gzip'), 422);
  assertRefused(await send('broken', body, 'gzip'), 400, /not valid gzip/);
});

test('a repeated discard of a full update does not discard the next one (§7.5 rule 1)', async () => {
  const catalog = await createCatalog(service());
  const giveUp = () => catalog.call('DELETE', '/products/batch', { headers: once('give up') });
  await catalog.post('/products/batch/initiate');
  const answers = [await giveUp(), await giveUp()];
  await catalog.post('/products/batch/initiate');
  answers.push(await giveUp());
  assert.equal(answers[0]?.status, 200);
  for (const { status, body } of answers) assert.deepEqual([status, body], [200, answers[0]?.body]);
  assert.equal((await catalog.call('GET', '/products/batch')).status, 200, 'the next one is open');
});

test('a request repeated with the API key in the URL instead of the header is a repetition (§7.5, §5.1 rule 3)', async () => {
  const catalog = await createCatalog(service());
  const first = await catalog.post('/products', [product('A')], once('ways'));
  const path = `/products?apiKey=${service().key}&projectId=${catalog.projectId}`;
  const body = JSON.stringify([product('A')]);
  const second = await service().call('POST', path, { body, key: null, headers: once('ways') });
  assert.deepEqual(second.body, first.body);
});

test('an Idempotency-Key of 256 characters is refused (§7.5)', async () => {
  const catalog = await createCatalog(service());
  assertRefused(await catalog.post('/products', [product('A')], once('k'.repeat(256))), 400);
  assert.equal((await catalog.post('/products', [product('A')], once('k'.repeat(255)))).status, 200);
});
