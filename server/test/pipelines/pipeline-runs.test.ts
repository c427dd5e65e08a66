// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { describeProcess, listChildren } from '../support/memory-watch.ts';
import {
  addPipeline,
  CSV_MAPPING,
  createPipeline,
  type FeedServer,
  startFeedServer,
} from '../support/pipelines/pipeline-under-test.ts';
import { createCatalog, shareService } from '../support/shared-service.ts';
import { Stops } from '../support/stops.ts';

const service = shareService({ settings: { RELATA_FETCH_ALLOW: '127.0.0.1/32' } });
const HTTP = (url: string) => ({ source: { type: 'http', url } });

/** One server for all tests. Each test sets its answer before it runs a pipeline. */
let feed: FeedServer;
const stops = new Stops();
before(async () => {
  feed = await startFeedServer(stops);
});
after(() => stops.stopAll());

const CSV = 'sku;name;Color\nA1;Lamp;red\nA2;Table;blue\n';

test('a run is a task with its own origin, name, log, report and counts (§13.2)', async () => {
  const pipeline = await createPipeline(service(), { name: 'Nightly' });
  const task = await pipeline.upload(CSV);
  assert.deepEqual(
    [task.taskStatus, task.origin, task.name, task.taskIncrementType, task.progress],
    ['FINISHED', 'PIPELINE', 'Nightly', 'STEP_BASED', 100],
  );
  const [lamp] = await pipeline.find('A1');
  assert.equal(lamp.name, 'Lamp');
  assert.deepEqual(
    lamp.facts.map(({ attribute, value }: { attribute: string; value: string }) => [attribute, value]),
    [['Color', 'red']],
  );
  const log = await pipeline.log(task);
  for (const step of [
    /^fetching /,
    /^reading feed\.csv/,
    /^read 2 rows, .*delimiter ";"/,
    /^mapped 2 products/,
    /^writing 2/,
  ])
    assert.ok(
      log.some((line) => step.test(line)),
      `${step} in ${log.join('\n')}`,
    );
  assert.deepEqual(await pipeline.counts(), {
    rows: 2,
    products: 2,
    filtered: 0,
    rejected: 0,
    created: 2,
    changed: 0,
    unchanged: 0,
    deleted: 0,
  });
  assert.deepEqual(
    (await pipeline.tasks()).map(({ name }: { name: string }) => name),
    ['Nightly'],
    'its parts are not listed',
  );
});

test('the mode full deletes products that the source lacks, and the other modes do not (§3.3)', async () => {
  const pipeline = await createPipeline(service());
  await pipeline.upload(CSV);
  await pipeline.upload('sku;name;Color\nA1;Lamp;green\nA3;Chair;black\n');
  assert.deepEqual(await pipeline.list(), ['A1', 'A3']);
  assert.deepEqual(await pipeline.counts(), {
    rows: 2,
    products: 2,
    filtered: 0,
    rejected: 0,
    created: 1,
    changed: 1,
    unchanged: 0,
    deleted: 1,
  });

  await pipeline.change({ mode: 'incremental' });
  await pipeline.upload('sku;name;Size\nA1;Lamp 2;L\n');
  assert.deepEqual((await pipeline.stored('A1')).attributes, [{ key: 'Size', value: 'L' }]);
  assert.deepEqual(await pipeline.list(), ['A1', 'A3']);

  await pipeline.change({ mode: 'partial', mapping: { identifier: 'sku', attributes: { Price: 'price' } } });
  await pipeline.upload('sku;price\nA1;19.99 EUR\nA9;1 EUR\n');
  assert.deepEqual((await pipeline.stored('A1')).attributes, [
    { key: 'Size', value: 'L' },
    { key: 'Price', value: '19.99 EUR' },
  ]);
  assert.deepEqual(await pipeline.list(), ['A1', 'A3'], 'a partial update makes no product');

  await pipeline.change({ mode: 'delete', mapping: { identifier: 'sku' } });
  const task = await pipeline.upload('sku\nA3\nA7\n');
  assert.deepEqual(await pipeline.list(), ['A1']);
  assert.deepEqual((await pipeline.counts()).deleted, 1);
  assert.ok(
    (await pipeline.report(task)).some(
      ({ identifier, code }) => identifier === 'A7' && code === 'unknown_identifier',
    ),
  );
});

test('the report counts cells that make no value, with their path (§13.2 rule 11)', async () => {
  const pipeline = await createPipeline(service(), {
    format: { type: 'json' },
    mapping: { identifier: 'sku', name: 'name', attributes: '*' },
  });
  const task = await pipeline.upload(
    JSON.stringify({ shop: { at: 'now' }, products: [{ sku: 'A1', name: 'Lamp', color: 'red' }] }),
  );
  assert.deepEqual(
    (await pipeline.report(task))
      .filter(({ code }) => code === 'element_unread')
      .map(({ column, count, message }) => ({ column, count, message })),
    [{ column: 'shop.at', count: 1, message: 'shop.at makes no value (1 times)' }],
  );
});

test('a run that fails after some batches were accepted, even while they are staged, is not a fault of the service (§13.2)', async () => {
  const pipeline = await createPipeline(service(), { onRejectedRow: 0 });
  const rows = Array.from({ length: 10_000 }, (_, index) => `P${index};Product ${index};v`);
  const task = await pipeline.upload(`sku;name;Color\n${rows.join('\n')}\n;Nothing;red\n`);
  assert.equal(task.error.code, 'rows_rejected');
  assert.deepEqual(await pipeline.list(), []);
});

const BAD = `sku;name;Price\nA1;Lamp;1,50\n;No number;2,00\nA3;Chair;cheap\n${'A4;Stool;3,00\n'}`;
const PRICED = { ...CSV_MAPPING, attributes: { Price: { column: 'Price', number: { decimal: 'comma' } } } };

test('a rejected row stops the run, is skipped, or is tolerated up to a share; the report names row, column and reason (§13.1)', async () => {
  const pipeline = await createPipeline(service(), { mapping: PRICED });
  const stopped = await pipeline.upload(BAD);
  assert.equal(stopped.taskStatus, 'FAILED');
  assert.equal(stopped.error.code, 'rows_rejected');
  assert.match(stopped.error.details.join('\n'), /row 3, column sku: identifier is empty/);
  assert.deepEqual(await pipeline.list(), [], 'a failed run changes nothing');

  await pipeline.change({ mapping: PRICED, onRejectedRow: 0.4 });
  const beyond = await pipeline.upload(BAD);
  assert.equal(beyond.taskStatus, 'FAILED', '2 of 4 rows are more than 40 %');
  assert.deepEqual(
    (await pipeline.report(beyond)).map(({ row, column, code }) => [row, column, code]),
    [
      [3, 'sku', 'row_rejected'],
      [4, 'Price', 'row_rejected'],
    ],
  );
  assert.deepEqual(await pipeline.list(), []);
  const written = { created: 0, changed: 0, unchanged: 0, deleted: 0 };
  const read = { rows: 4, products: 2, filtered: 0, rejected: 2 };
  assert.deepEqual(await pipeline.counts(), { ...read, ...written }, 'all figures, even of a failed run');

  await pipeline.change({ mapping: PRICED, onRejectedRow: 0.5 });
  assert.equal((await pipeline.upload(BAD)).taskStatus, 'FINISHED');
  assert.deepEqual(await pipeline.list(), ['A1', 'A4']);

  await pipeline.change({ mapping: PRICED, onRejectedRow: 'continue' });
  const task = await pipeline.upload(`${BAD}A5;Bench;4,00\n`);
  assert.equal(task.taskStatus, 'FINISHED');
  assert.deepEqual(await pipeline.list(), ['A1', 'A4', 'A5']);
  assert.deepEqual((await pipeline.counts()).rejected, 2);
  const [, price] = await pipeline.report(task);
  assert.match(price.message, /"cheap" is not a number/);
});

test('a run that finds fewer products than required changes nothing (§13.1)', async () => {
  const pipeline = await createPipeline(service(), { minProducts: 2 });
  await pipeline.upload(CSV);
  const few = await pipeline.upload('sku;name\nA1;Lamp\n');
  assert.equal(few.error.code, 'products_too_few');
  assert.match(few.error.message, /has 1 products.*at least 2/);
  assert.deepEqual(await pipeline.list(), ['A1', 'A2']);
  await pipeline.change({ minProducts: 1 });
  const none = await pipeline.upload('sku;name\n');
  assert.equal(none.error.code, 'products_too_few', 'an empty file never empties a catalog');
});

test('the delete guard of the pipeline applies in the modes full and delete (§13.1)', async () => {
  const pipeline = await createPipeline(service(), { maxDeletePercent: 30 });
  await pipeline.upload(CSV);
  const full = await pipeline.upload('sku;name\nA1;Lamp\n');
  assert.equal(full.error.code, 'delete_guard');
  assert.match(full.error.message, /significantly lower than before/);
  assert.match(full.error.details.join('\n'), /1 of 2 products \(50 %\).*pipeline allows 30 %/s);
  await pipeline.change({ mode: 'delete', mapping: { identifier: 'sku' }, maxDeletePercent: 49 });
  const deleting = await pipeline.upload('sku\nA1\n');
  assert.equal(deleting.error.code, 'delete_guard');
  assert.deepEqual(await pipeline.list(), ['A1', 'A2']);
  await pipeline.change({ mode: 'delete', mapping: { identifier: 'sku' }, maxDeletePercent: 50 });
  assert.equal((await pipeline.upload('sku\nA1\n')).taskStatus, 'FINISHED');
  assert.deepEqual(await pipeline.list(), ['A2']);
  await pipeline.done(await pipeline.post('/products/batch/restore'));
  assert.deepEqual(await pipeline.list(), ['A1', 'A2'], 'the delete of a run is restored like any other');
});

test('the delete guard of the project applies if it is stricter (§4.4)', async () => {
  const pipeline = await createPipeline(service(), { maxDeletePercent: 90 }, { maxDeletePercent: 10 });
  await pipeline.upload(CSV);
  const task = await pipeline.upload('sku;name\nA1;Lamp\n');
  assert.match(task.error.details.join('\n'), /the project allows 10 %/);
});

test('a run ends with nothing new for an unchanged file, and a changed definition reads it again (§13.2)', async () => {
  feed.answer((request, response) => {
    if (request.headers['if-none-match'] === '"v1"') response.writeHead(304).end();
    else response.writeHead(200, { etag: '"v1"', 'content-type': 'text/csv' }).end(CSV);
  });
  const pipeline = await createPipeline(service(), HTTP(feed.url));
  const before = feed.requests.length;
  assert.equal((await pipeline.run()).taskStatus, 'FINISHED');
  assert.equal(feed.requests.length, before + 1, 'one GET per run');
  const again = await pipeline.run();
  assert.equal(again.taskStatus, 'FINISHED');
  assert.ok((await pipeline.log(again)).some((line) => line.startsWith('nothing new')));
  assert.equal((await pipeline.counts()).nothingNew, true);
  await pipeline.update({ identifier: 'A1', name: 'Changed by a call' });
  const forced = await service().call('POST', `${pipeline.path}/run?force=true`);
  assert.equal((await service().ended(forced.body.task.id)).taskStatus, 'FINISHED');
  assert.equal((await pipeline.find('A1'))[0].name, 'Lamp', 'a run on request reads it anyway');
  await pipeline.change({ ...HTTP(feed.url), mapping: { ...CSV_MAPPING, attributes: {} } });
  await pipeline.run();
  assert.deepEqual((await pipeline.stored('A1')).attributes, []);
});

test('a failed run does not count as the last successful one (§13.2)', async () => {
  feed.answer((request, response) => {
    const isKnown = request.headers['if-none-match'] !== undefined;
    response.writeHead(isKnown ? 304 : 200, { etag: '"v2"' }).end(isKnown ? undefined : BAD);
  });
  const pipeline = await createPipeline(service(), { ...HTTP(feed.url), mapping: PRICED });
  assert.equal((await pipeline.run()).taskStatus, 'FAILED');
  assert.equal((await pipeline.run()).taskStatus, 'FAILED', 'it is read again');
});

test('a source that breaks off, is not a file, is forbidden or is missing fails the run and changes nothing (§13.4)', async () => {
  const pipeline = await createPipeline(service(), HTTP(feed.url));
  feed.serve(CSV);
  await pipeline.run();
  const cases: [string, Parameters<FeedServer['answer']>[0], RegExp][] = [
    [
      'breaks off',
      (_, response) => {
        response.writeHead(200, { 'content-length': '1000' }).write(CSV);
        setTimeout(() => response.destroy(), 50);
      },
      /source_unreadable/,
    ],
    [
      'a web page',
      (_, response) =>
        response
          .writeHead(200, { 'content-type': 'text/html' })
          .end('<!doctype html><html><body>Sign in</body></html>'),
      /format_unreadable/,
    ],
    ['an error', (_, response) => response.writeHead(500).end('no'), /source_unreadable/],
    [
      'a redirect to a private address',
      (_, response) => response.writeHead(302, { location: 'http://127.0.0.2:1/' }).end(),
      /source_unreadable/,
    ],
    [
      '10 GB',
      (_, response) =>
        response.writeHead(200, { 'content-length': String(10 * 1024 ** 3) }).write('sku;name\n'),
      /source_unreadable/,
    ],
    [
      'no gzip',
      (_, response) => response.writeHead(200).end(Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3])),
      /source_unreadable/,
    ],
    ['another table', (_, response) => response.writeHead(200).end('number;title\n1;x\n'), /mapping_unfit/],
  ];
  for (const [name, answer, code] of cases) {
    feed.answer(answer);
    const task = await pipeline.run();
    assert.equal(task.taskStatus, 'FAILED', name);
    assert.match(task.error.code, code, name);
    assert.ok(task.error.details.length > 0, name);
  }
  assert.deepEqual(await pipeline.list(), ['A1', 'A2']);
});

test('a run that is cancelled during a slow source ends immediately and changes nothing (§13.2)', async () => {
  feed.answer((_, response) => void response.writeHead(200).write(CSV));
  const pipeline = await createPipeline(service(), HTTP(feed.url));
  const before = feed.requests.length;
  const task = await pipeline.start();
  while (feed.requests.length === before) await new Promise((resolve) => setTimeout(resolve, 20));
  const cancelled = await pipeline.call('POST', `/tasks/${task.id}/cancel`);
  assert.equal(cancelled.status, 200, JSON.stringify(cancelled.body));
  assert.equal(cancelled.body.task.taskStatus, 'CANCELLED');
  assert.deepEqual(await pipeline.list(), []);
  feed.serve(CSV);
  assert.equal((await pipeline.run()).taskStatus, 'FINISHED', 'the next run is not blocked');
});

test('cancelling a run ends the process that evaluates its expressions (§13.2)', {
  skip: !existsSync('/proc/self/task') && 'only Linux lists the processes',
}, async () => {
  // More than the run reads before it maps the first rows.
  const much = CSV + 'A3;Chair;green\n'.repeat(20_000);
  feed.answer((_, response) => void response.writeHead(200).write(much));
  const mapping = { ...CSV_MAPPING, name: { expression: 'sku & name' } };
  const pipeline = await createPipeline(service(), { ...HTTP(feed.url), mapping });
  const task = await pipeline.start();
  const isThere = () => listChildren(process.pid).some((pid) => describeProcess(pid).includes('expression'));
  while (!isThere()) await new Promise((resolve) => setTimeout(resolve, 20));
  const cancelled = await pipeline.call('POST', `/tasks/${task.id}/cancel`);
  assert.equal(cancelled.body.task.taskStatus, 'CANCELLED', JSON.stringify(cancelled.body));
  while (isThere()) await new Promise((resolve) => setTimeout(resolve, 20));
});

test('a run whose source or mapping takes over half a day fails and frees its slot (§13.2)', async (t) => {
  // Node can mock this timer, but its types do not declare it yet.
  t.mock.timers.enable({ apis: ['AbortSignal.timeout' as 'Date'] });
  feed.answer((_, response) => void response.writeHead(200).write(CSV));
  const pipeline = await createPipeline(service(), HTTP(feed.url));
  const before = feed.requests.length;
  const { id } = await pipeline.start();
  while (feed.requests.length === before) await new Promise((resolve) => setTimeout(resolve, 20));
  t.mock.timers.tick(12 * 3_600_000);
  const task = await service().ended(id);
  assert.deepEqual([task.taskStatus, task.error?.code], ['FAILED', 'source_unreadable']);
  assert.match(JSON.stringify(task.error), /Reading and mapping the source took longer than 12 hours/);
  feed.serve(CSV);
  assert.equal((await pipeline.run()).taskStatus, 'FINISHED', 'the next run is not blocked');
});

test('a run gets its position in the order when it begins to write, and can be cancelled while it waits (§4.7)', async () => {
  const pipeline = await createPipeline(service(), { mode: 'incremental' });
  const release = await pipeline.hold();
  const rows = Array.from({ length: 10_001 }, (_, index) => `P${index};Product ${index}`);
  const path = `${pipeline.path}/upload?name=a.csv`;
  const first = await service().call('POST', path, { body: `sku;name\n${rows.join('\n')}\n` });
  const isWriting = async () =>
    (await pipeline.log(first.body.task)).some((line) => line.startsWith('writing'));
  while (!(await isWriting())) await new Promise((resolve) => setTimeout(resolve, 20));
  const patched = await pipeline.post('/products', { products: [{ identifier: 'P1', name: 'Later' }] });
  await release();
  await service().ended(patched.body.task.id);
  assert.equal((await pipeline.find('P1'))[0].name, 'Later', 'a later call takes effect later');
  assert.equal((await service().ended(first.body.task.id)).taskStatus, 'FINISHED');
  assert.equal((await pipeline.counts()).created, 10_001, 'both batches of the run');

  const again = await pipeline.hold();
  const second = await service().call('POST', path, {
    body: `sku;name\n${rows.map((row) => `${row} b`).join('\n')}\n`,
  });
  const log = async () => pipeline.log(second.body.task);
  while (!(await log()).some((line) => line.startsWith('writing')))
    await new Promise((resolve) => setTimeout(resolve, 20));
  // The writes are accepted right after the line in the log.
  let cancelled = await pipeline.call('POST', `/tasks/${second.body.task.id}/cancel`);
  while (cancelled.status === 409)
    cancelled = await pipeline.call('POST', `/tasks/${second.body.task.id}/cancel`);
  assert.equal(cancelled.body.task.taskStatus, 'CANCELLED', JSON.stringify(cancelled.body));
  await again();
  assert.equal((await pipeline.find('P7'))[0].name, 'Product 7', 'none of its batches takes effect');
});

test('a full update of a run and one of the API do not affect each other (§13.2)', async () => {
  const pipeline = await createPipeline(service());
  await pipeline.post('/products/batch/initiate');
  await pipeline.post('/products/batch/upload', { products: [{ identifier: 'B1', name: 'By the API' }] });
  await pipeline.upload(CSV);
  assert.deepEqual(await pipeline.list(), ['A1', 'A2']);
  await pipeline.done(await pipeline.post('/products/batch/start'));
  assert.deepEqual(await pipeline.list(), ['B1'], 'the session of the API was still open');
});

test('a slow source does not delay other pipelines of its project (§13.2)', async () => {
  feed.answer((_, response) => void response.writeHead(200).write(CSV));
  const catalog = await createCatalog(service());
  const slow = await addPipeline(service(), catalog, { ...HTTP(feed.url), name: 'Slow' });
  const waiting = await slow.start();
  const quick = await addPipeline(service(), catalog, { mode: 'incremental', name: 'Quick' });
  assert.equal((await quick.upload('sku;name\nB;2\n')).taskStatus, 'FINISHED');
  assert.deepEqual(await catalog.list(), ['B']);
  assert.equal((await catalog.call('POST', `/tasks/${waiting.id}/cancel`)).status, 200);
});

test('a run of an upload source without an uploaded file fails with that reason (§13.1)', async () => {
  const pipeline = await createPipeline(service(), { trigger: { type: 'webhook' } });
  const byHand = await service().call('POST', `${pipeline.path}/run`);
  assert.equal(byHand.status, 400);
  assert.match(byHand.body.message, /send a file to \/upload/);
  const { body } = await service().call('GET', pipeline.path);
  const called = await service().call('POST', new URL(body.trigger.url).pathname);
  assert.equal(called.status, 200, JSON.stringify(called.body));
  const task = await service().ended(called.body.task.id);
  assert.equal(task.taskStatus, 'FAILED');
  assert.match(JSON.stringify(task), /No file has been uploaded/);
});

test('native products are checked one by one, keep the rows of their values, and need no mapping (§2.3, §13.1)', async () => {
  const pipeline = await createPipeline(service(), {
    format: { type: 'native' },
    mapping: undefined,
    onRejectedRow: 'continue',
  });
  const lines = [
    {
      identifier: 'N1',
      name: 'Good',
      attributes: [
        { key: 'Size', value: '3 cm', row: 'slot A' },
        { key: 'Size', value: '4 cm', row: 2 },
        { key: 'Size', value: '5 cm' },
      ],
    },
    { identifier: 'N2', name: 'Bad', attributes: [{ key: 'Size', value: 3 }] },
    { name: 'None' },
    { identifier: 'N4', name: 'Bad', attributes: [{ key: 'Size', value: '3 cm', row: 1.5 }] },
  ].map((product) => JSON.stringify(product));
  const task = await pipeline.upload(lines.join('\n'), 'products.ndjson');
  assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task.error));
  assert.deepEqual(await pipeline.list(), ['N1']);
  const [good] = await pipeline.find('N1');
  assert.deepEqual(
    good.facts.map(({ value, row }: { value: string; row?: string | number }) => [value, row]),
    [
      ['3 cm', 'slot A'],
      ['4 cm', 2],
      ['5 cm', undefined],
    ],
  );
  assert.deepEqual(
    (await pipeline.report(task))
      .filter(({ code }) => code === 'row_rejected')
      .map(({ row, identifier, message }) => [row, identifier, message]),
    [
      [2, 'N2', 'product /attributes/0/value must be string'],
      [3, undefined, 'identifier is missing'],
      [4, 'N4', 'product /attributes/0/row must be string or integer'],
    ],
  );
});

test('a preview shows rows, products and problems side by side and suggests a mapping (§13.5)', async () => {
  const pipeline = await createPipeline(service());
  const file = { name: 'a.csv', base64: Buffer.from(BAD).toString('base64') };
  const tried = { source: { type: 'upload' }, format: { type: 'csv' }, mapping: PRICED, mode: 'full', file };
  const path = `/management/projects/${pipeline.projectId}/pipelines/preview`;
  const { status, body } = await service().call('POST', path, { body: tried });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body.columns, ['sku', 'name', 'Price']);
  assert.equal(body.found.delimiter, ';');
  assert.deepEqual(body.rows[0], {
    number: 2,
    values: { sku: 'A1', name: 'Lamp', Price: '1,50' },
    product: { identifier: 'A1', name: 'Lamp', attributes: [{ key: 'Price', value: '1.50' }] },
  });
  assert.deepEqual(body.rows[1].problems, [{ field: 'identifier', column: 'sku', reason: 'is empty' }]);
  assert.equal(body.suggestion.mapping.identifier, 'sku');
  assert.deepEqual(await pipeline.list(), []);

  const { mapping: _, ...without } = tried;
  const suggested = await service().call('POST', path, { body: without });
  assert.equal(suggested.body.rows[0].product.name, 'Lamp', 'without a mapping the suggested one is shown');
});
