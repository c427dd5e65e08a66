// runs: deep (not on postgres: spans, which are made above the stores; all tests of tasks cover the column)
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { type SentSpan, startCollector } from '../support/outbound/trace-collector.ts';
import { startReceiver } from '../support/outbound/webhook-receiver.ts';
import { startProcess } from '../support/service-process.ts';
import { createTestStore } from '../support/test-store.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${TRACE}-b7ad6b7169203331-01`;
const SECRET = 'a value that no span may have';

test('one trace leads from a request through its task to the commit, even in another process', async (t) => {
  const store = await createTestStore(t);
  const collector = await startCollector(t);
  const receiver = await startReceiver(t);
  const first = await startProcess(store, { ...collector.settings, RELATA_FETCH_ALLOW: '127.0.0.1/32' });
  const post = async (path: string, body?: unknown) => {
    const { status, body: answer, text } = await first.call('POST', path, { body, headers: { traceparent } });
    assert.ok(status < 300, text);
    return answer;
  };
  await post('/management/project-groups', { name: 'Group' });
  await post('/management/projects', { name: 'Shop', projectGroupId: 1, locale: 'de-DE' });
  const scope = { type: 'project', id: 1 };
  const wanted = { url: `${receiver.url}?token=${SECRET}`, events: ['products.changed'], scope };
  const endpoint = await post('/management/webhook-endpoints', wanted);
  await post('/products/batch/initiate');
  await post('/products/batch/upload', { products: [{ identifier: SECRET, name: SECRET }] });
  const { id } = (await post('/products/batch/start')).data.task;
  const wait = await first.call('GET', `/tasks/${id}?wait=60&apiKey=${SECRET}`);
  assert.equal(wait.body.task.taskStatus, 'FINISHED');

  const commit = await collector.find('commit');
  const start = await collector.find('POST /products/batch/start');
  const task = await collector.find('task catalog.commit');
  const upload = await collector.find('POST /products/batch/upload');
  const staged = await collector.find('stage batch');
  const written = await collector.find('write batch');
  for (const { traceId, name } of [commit, start, task, upload, staged, written])
    assert.equal(traceId, TRACE, name);
  assert.deepEqual([start.parentSpanId, upload.parentSpanId], ['b7ad6b7169203331', 'b7ad6b7169203331']);
  assert.deepEqual([task.parentSpanId, commit.parentSpanId], [start.spanId, task.spanId]);
  assert.deepEqual([staged.parentSpanId, written.parentSpanId], [upload.spanId, staged.spanId]);
  const factsOf = ({ attributes }: SentSpan) =>
    Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
  const facts = factsOf(start);
  assert.deepEqual(
    [facts['http.request.method'], facts['http.route'], Number(facts['http.response.status_code'])],
    ['POST', '/products/batch/start', 200],
  );
  // It is sent later and may be repeated, so it has no parent.
  const delivery = await collector.find('deliver webhook');
  assert.equal(delivery.parentSpanId ?? '', '');
  assert.deepEqual(factsOf(delivery), {
    'relata.webhook.endpoint': endpoint.id,
    'relata.webhook.tries': 0,
    'http.response.status_code': 204,
    'relata.webhook.delivered': true,
  });
  await first.stop();
  const health = collector.spans.filter(({ name }) => name.includes('/health'));
  assert.deepEqual(health, []);
  assert.ok(!collector.text().includes(SECRET), 'spans have no values');

  // This is the state after a crash before its end was stored.
  const control = new DatabaseSync(join(store.dataDir, 'control.db'));
  control.exec(`update task set status = 'RUNNING', finish_time = null where id = '${id}'`);
  control.close();
  const second = await startProcess(store, collector.settings);
  const again = await collector.find('task catalog.commit', ({ spanId }) => spanId !== task.spanId);
  assert.deepEqual([again.traceId, again.parentSpanId], [TRACE, start.spanId]);
  assert.equal(await second.stop(), 0);
});

test('a service without the packages for traces logs this once and serves', async (t) => {
  const hooks = `import { registerHooks } from 'node:module';
    registerHooks({ resolve(specifier, context, next) {
      if (!specifier.includes('opentelemetry/sdk')) return next(specifier, context);
      throw Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' });
    } });`;
  const service = await startProcess(await createTestStore(t), {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=data:text/javascript,${encodeURIComponent(hooks)}`,
  });
  assert.equal((await service.call('GET', '/projects')).status, 200);
  assert.equal(
    service.log().match(/traces are not sent because the packages of OpenTelemetry are not installed/g)
      ?.length,
    1,
  );
  assert.equal(await service.stop(), 0);
});
