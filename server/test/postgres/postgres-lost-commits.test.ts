// runs: postgres deep, waits
import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createChannelProject, sold } from '../support/channels/channel-project.ts';
import {
  byUpload,
  byUrl,
  createPipelineProject,
  FETCH_HERE,
  startSource,
} from '../support/pipelines/pipeline-project.ts';
import { startCommitLosingProxy } from '../support/postgres/commit-losing-proxy.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { createCatalog } from '../support/shared-service.ts';
import { until } from '../support/task-process.ts';
import { startTestService } from '../support/test-service.ts';
import { findServer, postgresStoreOn, testedStore } from '../support/test-store.ts';

/** A commit is stored, but its answer is lost with the connection: the store keeps all that it needs. */

const onlyShared = { skip: testedStore !== 'postgres' && 'the embedded store has no connection to lose' };
const TASK = 'insert into "task"';
const once = { 'idempotency-key': 'once' };

async function start(t: TestContext) {
  const database = await createDatabase(await findServer());
  const proxy = await startCommitLosingProxy(database.url);
  const dataDir = await mkdtemp(join(tmpdir(), 'relata-test-'));
  const store = postgresStoreOn({ ...database, url: proxy.url }, dataDir);
  const settings = { ...FETCH_HERE, RELATA_DATABASE_PREPARED_STATEMENTS: 'false' };
  const service = await startTestService(t, { store, settings });
  t.after(async () => {
    await store.remove();
    proxy.close();
  });
  return { proxy, service };
}

test(
  'an update whose acceptance was stored but not answered keeps its products (§7.5)',
  onlyShared,
  async (t) => {
    const { proxy, service } = await start(t);
    const catalog = await createCatalog(service);
    const send = () => catalog.post('/products', { products: [{ identifier: 'A', name: 'A' }] }, once);
    proxy.loseNext(TASK);
    assert.equal((await send()).status, 503);
    assert.equal(proxy.lost(), 1);
    assert.equal((await catalog.done(await send())).taskStatus, 'FINISHED');
    assert.deepEqual(await catalog.list(), ['A']);
  },
);

test(
  'a batch whose acceptance was stored but not answered keeps its products (§7.5)',
  onlyShared,
  async (t) => {
    const { proxy, service } = await start(t);
    const catalog = await createCatalog(service);
    const send = (identifier: string, headers?: typeof once) =>
      catalog.post('/products/batch/upload', { products: [{ identifier, name: identifier }] }, headers);
    await catalog.post('/products/batch/initiate');
    proxy.loseNext(TASK);
    assert.equal((await send('A', once)).status, 503);
    assert.equal(proxy.lost(), 1);
    assert.equal((await send('A', once)).status, 200);
    assert.equal((await send('B')).status, 200);
    const task = await catalog.done(await catalog.post('/products/batch/start'));
    assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
    assert.deepEqual(await catalog.list(), ['A', 'B']);
  },
);

test(
  'a list of links whose acceptance was stored but not answered is kept (§12.8)',
  onlyShared,
  async (t) => {
    const { proxy, service } = await start(t);
    const catalog = await createCatalog(service);
    const relations = `/management/projects/${catalog.projectId}/relations`;
    const wanted = { name: 'Goes with', tag: 'cross-sell', kind: 'links' };
    const { body: relation } = await service.call('POST', relations, { body: wanted });
    const path = `${relations}/${relation.id}/links`;
    const body = '{"source":"A","targets":["B"]}\n';
    const headers = { 'content-type': 'application/x-ndjson', ...once };
    proxy.loseNext(TASK);
    assert.equal((await service.call('PUT', path, { body, headers })).status, 503);
    assert.equal(proxy.lost(), 1);
    const task = await catalog.done(await service.call('PUT', path, { body, headers }));
    assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
    assert.equal((await service.call('GET', path)).body, body);
  },
);

test(
  'a change of the ontology that was stored but not answered is answered on repetition and is in the audit log (§7.6 rule 5)',
  onlyShared,
  async (t) => {
    const { proxy, service } = await start(t);
    const { projectId } = await createCatalog(service);
    const path = `/management/projects/${projectId}/ontology`;
    const { headers, body } = await service.call('GET', path);
    const wanted = { ...body, attributes: [{ name: 'Mine', type: 'TEXT_ATTRIBUTE' }] };
    const tagged = { 'if-match': headers.get('etag') ?? '', ...once };
    const put = () => service.call('PUT', path, { body: wanted, headers: tagged });
    proxy.loseNext('past_ontology');
    assert.equal((await put()).status, 503);
    assert.equal(proxy.lost(), 1);
    for (let again = 1; again <= 2; again += 1) {
      const answer = await put();
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.attributes[0].name, 'Mine');
    }
    const log = await service.call('GET', `/management/audit-log?projectId=${projectId}`);
    const actions = log.body.items.map(({ action }: { action: string }) => action);
    assert.equal(actions.filter((action: string) => action === 'ontology.changed').length, 1);
  },
);

test('a run whose writes were stored but not answered completes them (§13.2)', onlyShared, async (t) => {
  const { proxy, service } = await start(t);
  const project = await createPipelineProject(service);
  const source = await startSource();
  const pipeline = await project.create(byUrl(source.url, { mode: 'incremental' }));
  proxy.loseNext('update "pipeline_run" set "read"');
  const task = await project.run(pipeline);
  assert.equal(proxy.lost(), 1);
  assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  assert.deepEqual(await project.list(), ['A1', 'B4']);
});

test(
  'a run whose start was stored but not answered keeps the uploaded file (§13.2)',
  onlyShared,
  async (t) => {
    const { proxy, service } = await start(t);
    const project = await createPipelineProject(service);
    const pipeline = await project.create(byUpload());
    proxy.loseNext(TASK);
    const send = () => project.upload(pipeline, 'sku,title\nA1,Drill\n', { headers: once });
    assert.equal((await send()).status, 503);
    assert.equal(proxy.lost(), 1);
    const task = await project.done(await send());
    assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
    assert.deepEqual(await project.list(), ['A1']);
  },
);

test(
  'a build whose publication was stored but not answered is served (§16.3 rule 5)',
  onlyShared,
  async (t) => {
    const { proxy, service } = await start(t);
    const project = await createChannelProject(service);
    await project.load(sold('A1'));
    const channel = await project.create({ name: 'All', format: { type: 'ndjson' } });
    proxy.loseNext('insert into "channel_snapshot"');
    const task = await project.build(channel);
    assert.equal(proxy.lost(), 1);
    assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
    const answer = await project.fetch(channel.url);
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /A1/);
  },
);

test(
  'a task whose publication or commit has an unknown outcome is not cancelled until it is known (§4.7 rule 15)',
  onlyShared,
  async (t) => {
    const { proxy, service } = await start(t);
    const project = await createChannelProject(service);
    await project.load(sold('A1'));
    const channel = await project.create({ name: 'All', format: { type: 'ndjson' } });
    const countWaiting = () => service.log.filter((line) => line.includes('a task cannot continue')).length;
    const cancelWhenLost = async (statement: string, begin: () => Promise<string>) => {
      const waiting = countWaiting();
      proxy.loseNext(statement);
      const id = await begin();
      await until('it waits', () => countWaiting() > waiting);
      assert.equal((await service.call('POST', `/tasks/${id}/cancel`)).status, 409);
      assert.equal((await service.ended(id)).taskStatus, 'FINISHED');
    };
    await cancelWhenLost('insert into "channel_snapshot"', async () => {
      const { body } = await project.manage('POST', `/${channel.id}/build`);
      return body.task.id;
    });
    assert.equal((await project.fetch(channel.url)).status, 200);
    await project.post('/products/batch/initiate');
    await project.post('/products/batch/upload', { products: [sold('A1'), sold('B1')] });
    await cancelWhenLost('last_task_result = ', async () => {
      const { body } = await project.post('/products/batch/start');
      return body.data.task.id;
    });
    assert.equal(proxy.lost(), 2);
    assert.deepEqual(await project.list(), ['A1', 'B1']);
  },
);
