// runs: test (not on postgres: the answers about runs; pipeline-runs.test.ts stores runs)
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { ServiceError } from '../../src/kernel/errors.ts';
import {
  byUpload,
  byUrl,
  CSV,
  createPipelineProject,
  FETCH_HERE,
  type PipelineProject,
  startSource,
} from '../support/pipelines/pipeline-project.ts';
import { startProcess } from '../support/service-process.ts';
import { assertRefused, shareService } from '../support/shared-service.ts';
import { startTestService, TestClock } from '../support/test-service.ts';
import { createTestStore, testedStore } from '../support/test-store.ts';

const MIB = 1024 * 1024;
const MAX_MIB = 24;
const clock = new TestClock();
const service = shareService({
  clock,
  settings: { ...FETCH_HERE, RELATA_SOURCE_MAX_MIB: String(MAX_MIB), RELATA_LOG_LEVEL: 'info' },
});

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const createProject = () => createPipelineProject(service());
const once24 = (key: string) => ({ headers: { 'idempotency-key': key } });

async function readLog(task: { id: string }): Promise<string> {
  const { body } = await service().call('GET', `/tasks/${task.id}/log`);
  return body.log.map(({ line }: { line: string }) => line).join('\n');
}

/** A refused upload must leave nothing behind, although the removal may follow the answer. */
async function assertNoBodies(list = service().store.listBodies): Promise<void> {
  for (let left = 100; ; left -= 1) {
    const bodies = await list();
    if (bodies.length === 0) return;
    assert.ok(left > 0, `${bodies} stayed`);
    await delay(50);
  }
}

test('a run is a task with its own origin and name, and changes the catalog (§13.2 rule 1)', async () => {
  const project = await createProject();
  const source = await startSource();
  const pipeline = await project.create(byUrl(source.url));
  const { status, body } = await project.manage('POST', `/${pipeline.id}/run`, { body: 'no {json' });
  const { task, ...rest } = body;
  assert.deepEqual([status, rest], [200, { status: 'success', message: 'Pipeline triggered' }]);
  assert.deepEqual(
    [task.origin, task.name, task.taskStatus, task.taskIncrementType, task.progress],
    ['PIPELINE', 'Fetched', 'RUNNING', 'STEP_BASED', 0],
  );
  const ended = await service().ended(task.id);
  assert.equal(ended.taskStatus, 'FINISHED', JSON.stringify(ended));
  assert.deepEqual(await project.list(), ['A1', 'B4']);
  assert.equal((await project.tasks()).length, 1);
});

test('runs list what started them and their counts, newest first, in pages (§13.6)', async () => {
  const project = await createProject();
  const source = await startSource();
  const pipeline = await project.create(byUrl(source.url));
  assert.deepEqual((await project.manage('GET', `/${pipeline.id}/runs`)).body, {
    items: [],
    nextCursor: null,
  });
  const tasks = [await project.run(pipeline)];
  source.serve(`${CSV}C7,Case,1 in\n`);
  tasks.unshift(await project.run(pipeline));
  source.serve('<html><body>Sign in</body></html>');
  tasks.unshift(await project.run(pipeline));
  const { body } = await project.manage('GET', `/${pipeline.id}/runs`);
  assert.equal(body.nextCursor, null);
  assert.deepEqual(
    body.items.map(({ task }: AnyBody) => task),
    tasks,
  );
  const [failed, second, first] = body.items;
  assert.deepEqual([failed.startedBy, failed.task.taskStatus], ['manual', 'FAILED']);
  const none = { filtered: 0, rejected: 0, changed: 0, deleted: 0 };
  assert.deepEqual(first.counts, { ...none, rows: 2, products: 2, created: 2, unchanged: 0 });
  assert.deepEqual(second.counts, { ...none, rows: 3, products: 3, created: 1, unchanged: 2 });

  const { body: page } = await project.manage('GET', `/${pipeline.id}/runs?limit=2`);
  assert.deepEqual(page.items, [failed, second]);
  const next = await project.manage('GET', `/${pipeline.id}/runs?limit=2&cursor=${page.nextCursor}`);
  assert.deepEqual(next.body, { items: [first], nextCursor: null });

  const { lastRun } = await project.read(pipeline);
  const { id: taskId, taskStatus, startTime, finishTime } = failed.task;
  assert.deepEqual(lastRun, {
    taskId,
    taskStatus,
    startTime,
    finishTime,
    startedBy: 'manual',
    counts: failed.counts,
  });
  assert.deepEqual((await project.manage('GET')).body.items[0].lastRun, lastRun);
});

test('a run reports an unchanged source as nothing new, until the definition changes (§13.2)', async () => {
  const project = await createProject();
  const pipeline = await project.create(
    byUpload({ name: 'Tagged', source: { type: 'http', url: await startTaggedSource() } }),
  );
  await project.run(pipeline);
  await project.run(pipeline);
  assert.equal((await project.read(pipeline)).lastRun.counts.nothingNew, true);
  await project.manage('PUT', `/${pipeline.id}`, { body: { ...pipeline, name: 'Renamed' } });
  await project.run(pipeline);
  assert.equal((await project.read(pipeline)).lastRun.counts.nothingNew, true);
  const mapping = { ...pipeline.mapping, groupIdentifier: 'title' };
  await project.manage('PUT', `/${pipeline.id}`, { body: { ...pipeline, mapping } });
  await project.run(pipeline);
  const { counts } = (await project.read(pipeline)).lastRun;
  assert.deepEqual([counts.nothingNew, counts.changed], [undefined, 2]);
});

/** A source whose file has an ETag. */
async function startTaggedSource(): Promise<string> {
  const server = createServer((request, response) => {
    response.setHeader('etag', '"one"').setHeader('content-type', 'text/csv');
    if (request.headers['if-none-match'] === '"one"') response.writeHead(304).end();
    else response.end(CSV);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`;
}

test('during a run no other run starts, and the pipeline cannot be deleted (§13.3, §8)', async () => {
  const project = await createProject();
  const source = await startSource();
  const pipeline = await project.create(byUrl(source.url));
  const release = source.hold();
  const { body } = await project.manage('POST', `/${pipeline.id}/run`);
  const refused = await project.manage('POST', `/${pipeline.id}/run`);
  assertRefused(refused, 429, 'Too Many Requests');
  assert.equal(refused.headers.get('retry-after'), '30');
  assertRefused(await project.manage('DELETE', `/${pipeline.id}`), 409);
  assert.equal((await project.manage('PUT', `/${pipeline.id}`, { body: pipeline })).status, 200);
  release();
  assert.equal((await service().ended(body.task.id)).taskStatus, 'FINISHED');
  assert.equal((await project.manage('GET', `/${pipeline.id}/runs`)).body.items.length, 1);
  assert.equal((await project.manage('DELETE', `/${pipeline.id}`)).status, 200);
});

test('one Idempotency-Key starts one run (§7.5)', async () => {
  const project = await createProject();
  const source = await startSource();
  const pipeline = await project.create(byUrl(source.url));
  const first = await project.manage('POST', `/${pipeline.id}/run`, once24(`run ${pipeline.id}`));
  const second = await project.manage('POST', `/${pipeline.id}/run`, once24(`run ${pipeline.id}`));
  assert.deepEqual([second.status, second.body], [200, first.body]);
  await project.done(first);
  assert.equal((await project.tasks()).length, 1);
});

test('the audit log names the caller that started a run (§14.4)', async () => {
  const project = await createProject();
  const pipeline = await project.create(byUpload());
  await project.done(await project.upload(pipeline, CSV));
  const { body } = await service().call('GET', `/management/audit-log?projectId=${project.projectId}`);
  const [{ action, subject, actor }] = body.items;
  assert.deepEqual(
    [action, subject, actor.type],
    ['pipeline.run', { type: 'pipeline', id: pipeline.id, name: 'Files' }, 'key'],
  );
});

test('an uploaded file starts a run and is removed when the run has ended (§13.1)', async () => {
  const project = await createProject();
  const pipeline = await project.create(byUpload());
  const answer = await project.upload(pipeline, CSV, { name: 'export/feed.csv' });
  assert.deepEqual([answer.status, answer.body.message], [200, 'Pipeline triggered']);
  const task = await project.done(answer);
  assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  assert.match(await readLog(task), /feed\.csv/);
  assert.deepEqual(await project.list(), ['A1', 'B4']);
  assert.equal((await project.read(pipeline)).lastRun.startedBy, 'upload');
  await assertNoBodies();
});

test('Content-Disposition names a file if ?name= does not, and gzip is unpacked (§13.1)', async () => {
  const project = await createProject();
  const pipeline = await project.create(byUpload());
  const headers = {
    'content-disposition': 'attachment; filename="packed.csv.gz"',
    'content-encoding': 'gzip',
    'content-type': 'application/octet-stream',
  };
  const task = await project.done(await project.upload(pipeline, gzipSync(CSV), { headers }));
  assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  assert.match(await readLog(task), /packed\.csv/);
  assert.deepEqual(await project.list(), ['A1', 'B4']);
});

test('a file for a pipeline that is running is refused with 429 before it is read (§13.1 rule 20)', async () => {
  const project = await createProject();
  const pipeline = await project.create(byUpload());
  const release = await project.hold();
  const first = await project.upload(pipeline, CSV);
  const listPieces = async () =>
    (await service().store.listBodies()).filter((name) => name.startsWith('pipeline-'));
  const before = await listPieces();
  const refused = await project.upload(pipeline, 'x'.repeat(20 * MIB));
  assertRefused(refused, 429, 'Too Many Requests');
  assert.equal(refused.headers.get('retry-after'), '30');
  assert.deepEqual(await listPieces(), before);
  await release();
  await project.done(first);
  await assertNoBodies();
});

/** A file of this size whose last row is the product LAST. */
function makeLarge(mib: number): string {
  const text = 'x'.repeat(60_000);
  const row = (identifier: string) => `${identifier},Name,${text}\n`;
  const rows = Math.ceil((mib * MIB) / row('P0000').length);
  return `sku,title,Note\n${Array.from({ length: rows }, (_, index) => row(`P${index}`)).join('')}LAST,Name,end\n`;
}

test('a file is stored in pieces of 8 MiB and read as one, with and without Content-Length (§13.1)', async () => {
  const project = await createProject();
  const source = await startSource();
  const pipeline = await project.create(byUpload());
  const file = makeLarge(17);
  // Keeps the file of the run: its ordered write waits, so the pieces can still be counted.
  const release = await project.hold();
  const answer = await project.upload(pipeline, file);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const pieces = (await service().store.listBodies()).filter((name) => name.startsWith('pipeline-'));
  assert.equal(pieces.length, 3);
  await release();
  const task = await project.done(answer);
  assert.equal(task.taskStatus, 'FINISHED', JSON.stringify(task));
  assert.equal((await project.find('P0', 'LAST')).length, 2);

  const inChunks = await fetch(
    `${service().address}/management/projects/${project.projectId}/pipelines/${pipeline.id}/upload`,
    {
      method: 'POST',
      headers: { authorization: `Bearer ${service().key}` },
      body: new Blob([file]).stream(),
      duplex: 'half',
    } as RequestInit,
  );
  assert.equal(inChunks.status, 200);
  const { task: second } = (await inChunks.json()) as AnyBody;
  assert.equal((await service().ended(second.id)).taskStatus, 'FINISHED');
  assert.equal((await project.read(pipeline)).lastRun.counts.unchanged, (await project.list()).length);
  assert.equal(source.requests.length, 0);
  await assertNoBodies();
});

test('a file that cannot be accepted is refused, and nothing of it is stored (§13.1, §7.4)', async () => {
  const project = await createProject();
  const pipeline = await project.create(byUpload());
  const other = await project.create(byUrl('https://erp.example/export.csv'));
  assertRefused(await project.upload(other, CSV), 400, 'Your body params are not valid');
  assertRefused(await project.manage('POST', `/${pipeline.id}/run`), 400);
  assertRefused(await project.upload(pipeline, ''), 400);
  assertRefused(await project.manage('POST', `/${pipeline.id}/upload`), 400);
  const form = { 'content-type': 'multipart/form-data; boundary=x' };
  assertRefused(await project.upload(pipeline, '--x--', { headers: form }), 400);
  assertRefused(await project.upload(pipeline, CSV, { headers: { 'content-encoding': 'compress' } }), 415);
  const large = 'x'.repeat(MAX_MIB * MIB + 1);
  const refused = await project.upload(pipeline, large).catch((error: Error) => error);
  // The connection may be closed while the sender is still sending.
  if (!(refused instanceof Error)) assertRefused(refused, 413, `The body is larger than ${MAX_MIB} MiB`);
  assert.deepEqual(await project.tasks(), []);
  await assertNoBodies();
});

test('an upload that breaks off starts nothing and stores nothing (§7.2)', async () => {
  const project = await createProject();
  const pipeline = await project.create(byUpload());
  const { hostname, port } = new URL(service().address);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const path = `/management/projects/${project.projectId}/pipelines/${pipeline.id}/upload`;
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service().key}\r\nContent-Length: ${20 * MIB}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(10 * MIB, 'x'));
  for (let left = 200; (await service().store.listBodies()).length === 0; left -= 1) {
    assert.ok(left > 0, 'the first piece is stored before the file has ended');
    await delay(25);
  }
  socket.destroy();
  await assertNoBodies();
  assert.deepEqual(await project.tasks(), []);
});

test('a repeated upload gets the same answer, and its file is not stored twice (§7.5)', async () => {
  const project = await createProject();
  const pipeline = await project.create(byUpload());
  const key = once24(`upload ${pipeline.id}`);
  const first = await project.upload(pipeline, CSV, key);
  const second = await project.upload(pipeline, CSV, key);
  assert.deepEqual([second.status, second.body], [200, first.body]);
  assertRefused(await project.upload(pipeline, `${CSV}C7,Case,\n`, key), 422);
  await project.done(first);
  assert.equal((await project.tasks()).length, 1);
  await assertNoBodies();
});

test('an upload of the same file packed by gzip at another time counts as a repetition (§7.5 rule 4)', async () => {
  const project = await createProject();
  const pipeline = await project.create(byUpload());
  const key = once24(`packed ${pipeline.id}`);
  const packed = gzipSync(CSV);
  const later = Buffer.from(packed);
  later.writeUInt32LE(1_800_000_000, 4);
  const first = await project.upload(pipeline, packed, key);
  const second = await project.upload(pipeline, later, key);
  assert.deepEqual([second.status, second.body], [200, first.body]);
  assertRefused(await project.upload(pipeline, gzipSync(`${CSV}C7,Case,\n`), key), 422);
  assert.equal((await project.done(first)).taskStatus, 'FINISHED');
});

test('a file that finds no space is answered 507 and stores nothing (§7.2 rule 6)', async (t) => {
  let piecesLeft = 1;
  const full = await startTestService(t, {
    replace: {
      storage: (real) => ({
        ...real,
        payloads: {
          ...real.payloads,
          write: async (projectId, name, bytes) => {
            if (piecesLeft-- <= 0) throw new ServiceError('storage_full');
            return real.payloads.write(projectId, name, bytes);
          },
        },
      }),
    },
  });
  const project: PipelineProject = await createPipelineProject(full);
  const pipeline = await project.create(byUpload());
  assertRefused(await project.upload(pipeline, 'x'.repeat(9 * MIB)), 507);
  assert.deepEqual(await project.tasks(), []);
  await assertNoBodies(full.store.listBodies);
});

test('a preview maps the first rows of the real source and stores nothing (§13.5)', async () => {
  const project = await createProject();
  const rows = Array.from(
    { length: 30 },
    (_, index) => `P${index},Name ${index},${index === 1 ? '' : `${index} in`}\n`,
  );
  const source = await startSource(`sku;title;Length\n${rows.join('').replaceAll(',', ';')}`);
  const definition = {
    source: { type: 'http', url: source.url, headers: { 'X-Token': 'secret' } },
    format: { type: 'csv' },
    mapping: { identifier: 'sku', name: { column: 'title', case: 'upper' }, attributes: '*' },
  };
  const { status, body } = await project.manage('POST', '/preview', { body: definition });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.columns, body.found.delimiter], [['sku', 'title', 'Length'], ';']);
  assert.equal(body.rows.length, 20);
  const [first] = body.rows;
  assert.deepEqual(first.values, { sku: 'P0', title: 'Name 0', Length: '0 in' });
  assert.deepEqual(first.product, {
    identifier: 'P0',
    name: 'NAME 0',
    attributes: [{ key: 'Length', value: '0 in' }],
  });
  assert.equal(source.requests.at(-1)?.headers['x-token'], 'secret');
  assert.deepEqual([await project.tasks(), await project.list()], [[], []]);
  assert.deepEqual((await project.manage('GET')).body.items, []);
});

test('a preview accepts only a complete definition, as sent or as answered (§13.5 rule 1)', async () => {
  const project = await createProject();
  const source = await startSource();
  const definition = {
    ...byUrl(source.url),
    mode: 'incremental',
    trigger: { type: 'webhook' },
    minProducts: 1_000,
    onRejectedRow: 'continue',
  };
  const preview = (body: object) => project.manage('POST', '/preview', { body });
  const { source: from, format, mapping } = definition;
  const { body } = await preview({ source: from, format, mapping });
  assert.equal(body.rows.length > 0, true, JSON.stringify(body));
  assert.deepEqual((await preview(definition)).body, body);
  const pipeline = await project.create(definition);
  assert.deepEqual((await preview({ ...pipeline, pipelineId: pipeline.id })).body, body);
  const refused = await preview({ ...definition, colour: 'red' });
  assert.equal(refused.status, 400);
  assert.deepEqual(refused.body.details, ['must NOT have additional properties: colour']);
});

test('a preview uses masked headers of the stored pipeline, and an uploaded file (§13.5)', async () => {
  const project = await createProject();
  const source = await startSource();
  const headers = { 'X-Token': 'stored' };
  const pipeline = await project.create(
    byUrl(source.url, { source: { type: 'http', url: source.url, headers } }),
  );
  const tried = { source: pipeline.source, format: pipeline.format, pipelineId: pipeline.id };
  const { status, body } = await project.manage('POST', '/preview', { body: tried });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(source.requests.at(-1)?.headers['x-token'], 'stored');
  assert.deepEqual(body.suggestion.mapping.identifier, 'sku');

  const upload = { source: { type: 'upload' }, format: { type: 'csv' } };
  const file = { name: 'feed.csv', base64: Buffer.from(CSV).toString('base64') };
  const sent = await project.manage('POST', '/preview', { body: { ...upload, file } });
  assert.equal(sent.body.rows[1].product.identifier, 'B4', JSON.stringify(sent.body));
  for (const bad of [undefined, { ...file, base64: '***' }, { ...file, base64: 'A'.repeat(12 * MIB) }])
    assertRefused(await project.manage('POST', '/preview', { body: { ...upload, file: bad } }), 400);
});

test('a preview that cannot be made gives the reason (§13.5, §7.4)', async () => {
  const project = await createProject();
  const source = await startSource('<html><body>Sign in</body></html>');
  const format = { type: 'csv' };
  const refuse = async (url: string) =>
    project.manage('POST', '/preview', { body: { source: { type: 'http', url }, format } });
  assertRefused(await refuse(source.url), 400, 'The file cannot be read in the format of the pipeline');
  const forbidden = await refuse('http://127.0.0.2/');
  assertRefused(forbidden, 400, 'The source cannot be read');
  assert.match(forbidden.body.details.join(), /loopback/);
});

test('runs are removed with their tasks (§10.5)', async () => {
  const project = await createProject();
  const pipeline = await project.create(byUpload());
  await project.done(await project.upload(pipeline, CSV));
  clock.pass(1_000);
  await service().app.tasks.dropEndedBefore(clock.now());
  assert.deepEqual((await project.manage('GET', `/${pipeline.id}/runs`)).body.items, []);
  assert.equal((await project.read(pipeline)).lastRun, null);
  const { body: rest } = await project.manage('GET');
  assert.equal(rest.items[0].lastRun, null);
});

test('purging a project removes its pipelines (§14.2 rule 9)', async () => {
  const project = await createProject();
  const pipeline = await project.create(byUpload({ name: 'Gone with its project' }));
  await project.done(await project.upload(pipeline, CSV));
  const { body } = await service().call('GET', `/management/projects/${project.projectId}`);
  const path = `/management/projects/${project.projectId}?confirm=${encodeURIComponent(body.name)}`;
  assert.equal((await service().call('DELETE', path)).status, 200);
  assertRefused(await project.manage('GET', `/${pipeline.id}`), 404);
  clock.pass(31 * 24 * 3_600_000);
  await service().app.projects.purgeDeleted(async () => {});
  const storage = await service().store.open();
  try {
    for (const table of ['pipeline', 'pipeline_run'] as const) {
      const rows = await storage.database.read
        .selectFrom(table)
        .select('project_id')
        .where('project_id', '=', project.projectId)
        .execute();
      assert.deepEqual(rows, []);
    }
  } finally {
    await storage.close();
  }
});

const onlyShared = { skip: testedStore !== 'postgres' && 'the embedded store has one process' };

test('one process reads a file that another process accepted (§13.1)', onlyShared, async (t) => {
  const store = await createTestStore(t);
  const api = await startProcess(store, {}, 'api');
  const group = await api.call('POST', '/management/project-groups', { body: { name: 'Group' } });
  const wanted = { name: 'Project', projectGroupId: group.body.id, locale: 'de-DE' };
  const { body: project } = await api.call('POST', '/management/projects', { body: wanted });
  const path = `/management/projects/${project.id}/pipelines`;
  const { body: pipeline } = await api.call('POST', path, { body: byUpload() });
  const taken = await fetch(`${api.address}${path}/${pipeline.id}/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api.key}` },
    body: makeLarge(9),
  });
  assert.equal(taken.status, 200);
  const { task } = (await taken.json()) as AnyBody;
  await startProcess(store, {}, 'worker');
  const { body } = await api.call('GET', `/tasks/${task.id}?wait=60`);
  assert.equal(body.task.taskStatus, 'FINISHED', JSON.stringify(body));
  const answer = await api.call('GET', `/product-service/products-by-sku?identifiers=LAST`);
  assert.equal(answer.body.products.length, 1);
  await assertNoBodies(store.listBodies);
});
