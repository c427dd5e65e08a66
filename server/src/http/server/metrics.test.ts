// runs: test
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Type } from 'typebox';
import type { KeyCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import type { Guards } from '../guards/guards.ts';
import { addHealthRoutes } from './health-routes.ts';
import { createMetrics, createServer, measureRequests, serveMetrics } from './server.ts';

const caller: KeyCaller = {
  accountId: 1,
  keyId: 1,
  keyName: 'test',
  scope: { type: 'account' },
  access: 'manage',
};
const callers: Readonly<Record<string, KeyCaller>> = {
  account: caller,
  reader: { ...caller, access: 'read' },
  project: { ...caller, scope: { type: 'project', id: 7 } },
};
const guards: Guards = {
  findCaller({ value }) {
    const caller = callers[value];
    if (caller === undefined) throw new ServiceError('scope_refused');
    return caller;
  },
  findUser() {
    throw new ServiceError('not_signed_in');
  },
  countRequest: async () => undefined,
  chooseProject: () => ({ id: 7, name: 'Bikes', accountId: 1 }),
  choosePathProject: () => ({ id: 7, name: 'Bikes', accountId: 1 }),
};

async function startServer(t: TestContext, isReady = () => true) {
  const settings = { logLevel: 'silent', trustedProxies: [], corsOrigins: [], bodyBudgetMib: 8 };
  const server = createServer(settings, guards);
  t.after(() => server.close());
  const metrics = createMetrics({
    dataDir: '.',
    listTaskKinds: () => ['commit'],
    isReady,
    gauges: [{ name: 'relata_tasks_waiting', help: 'Waiting.', read: async () => 3 }],
  });
  measureRequests(server, [metrics.measureRequest]);
  const schema = { params: Type.Object({ bikeId: Type.Integer() }) };
  server.get('/bikes/:bikeId/parts', { config: { guard: 'project' }, schema }, async () => ({ bikes: [] }));
  addHealthRoutes(server, {
    isReady: async () => isReady(),
    listProblems: async () => [],
    describeBackup: () => undefined,
  });
  serveMetrics(server, metrics);
  const origin = await server.listen({ host: '127.0.0.1', port: 0 });
  const get = (path: string, key?: string) =>
    fetch(origin + path, { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } });
  return { metrics, get };
}

test('reading metrics needs a key of account scope, with any access', async (t) => {
  const { get } = await startServer(t);
  assert.equal((await get('/metrics')).status, 401);
  assert.equal((await get('/metrics', 'unknown')).status, 401);
  assert.equal((await get('/metrics', 'reader')).status, 200);
  const refused = await get('/metrics', 'project');
  assert.equal(refused.status, 401);
  assert.match(await refused.text(), /You are not allowed to access the requested resource/);
  const answer = await get('/metrics', 'account');
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/);
  const inUrl = await get('/metrics?apiKey=account');
  assert.deepEqual([inUrl.status, inUrl.headers.has('deprecation')], [200, true]);
});

test('the metrics count requests by method, route pattern and status', async (t) => {
  const { get, metrics } = await startServer(t);
  await get('/bikes/1/parts', 'account');
  await get('/bikes/2/parts', 'account');
  await get('/bikes/x/parts', 'account');
  await get('/nowhere/1');
  await get('/nowhere/2');
  const { text } = await metrics.print();
  const count = (labels: string) =>
    new RegExp(`relata_http_request_duration_seconds_count\\{${labels}\\} (\\d+)`).exec(text)?.[1];
  assert.equal(count('method="GET",route="/bikes/:bikeId/parts",status="200"'), '2');
  assert.equal(count('method="GET",route="/bikes/:bikeId/parts",status="400"'), '1');
  assert.equal(count('method="GET",route="unknown",status="404"'), '2');
  assert.match(text, /le="0.001",.*\n[\s\S]*le="60",/);
});

test('metrics omit a figure that cannot be read and show the others (docs/operating/monitoring.md, "Metrics")', async () => {
  let isAway = false;
  const read = async <Figures>(figures: Figures): Promise<Figures> => {
    if (isAway) throw new Error('the database is unreachable');
    return figures;
  };
  const metrics = createMetrics({
    gauges: [
      { name: 'relata_tasks_waiting', help: 'Waiting.', read: () => read(3) },
      { name: 'relata_oldest_task_seconds', help: 'Old.', label: 'kind', read: () => read({ commit: 7 }) },
      { name: 'relata_build_info', help: 'Version.', label: 'version', read: () => ({ '1.2.3': 1 }) },
    ],
    isReady: () => !isAway,
  });
  const list = async () => (await metrics.print()).text.match(/^relata_(?:tasks_|old|build|ready).*/gm);
  const all = [
    'relata_tasks_waiting 3',
    'relata_oldest_task_seconds{kind="commit"} 7',
    'relata_build_info{version="1.2.3"} 1',
    'relata_ready 1',
  ];
  assert.deepEqual(await list(), all);
  isAway = true;
  assert.deepEqual(await list(), ['relata_build_info{version="1.2.3"} 1', 'relata_ready 0']);
  isAway = false;
  assert.deepEqual(await list(), all);
});

test('the counters of tasks, refused commits and products begin at 0', async () => {
  const metrics = createMetrics({
    listTaskKinds: () => ['commit'],
    gauges: [{ name: 'relata_tasks_waiting', help: 'Waiting.', read: () => 3 }],
    isReady: () => false,
  });
  const before = (await metrics.print()).text;
  assert.match(before, /^relata_tasks_total\{kind="commit",status="FAILED"\} 0$/m);
  assert.match(before, /^relata_commits_refused_total\{reason="delete_guard"\} 0$/m);
  assert.match(before, /^relata_products_written_total\{change="deleted"\} 0$/m);
  assert.match(before, /^relata_tasks_waiting 3$/m);
  assert.match(before, /^relata_ready 0$/m);
  metrics.countTask('commit', 'FAILED');
  metrics.countRefusedCommit('delete_guard');
  metrics.countWrittenProducts({ deleted: 25 });
  const after = (await metrics.print()).text;
  assert.match(after, /^relata_tasks_total\{kind="commit",status="FAILED"\} 1$/m);
  assert.match(after, /^relata_commits_refused_total\{reason="delete_guard"\} 1$/m);
  assert.match(after, /^relata_products_written_total\{change="deleted"\} 25$/m);
});

test('metrics include the free space of the data directory and figures of the process', async () => {
  const { text } = await createMetrics({ dataDir: '.' }).print();
  assert.match(text, /^relata_data_dir_free_bytes [1-9]\d*(\.\d+e\+\d+)?$/m);
  assert.match(text, /^relata_process_resident_memory_bytes \d/m);
  assert.doesNotMatch(text, /^relata_tasks_waiting/m);
});

test('/health/live always answers 200, and /health/ready only while requests are served', async (t) => {
  let isReady = false;
  const { get } = await startServer(t, () => isReady);
  const live = await get('/health/live');
  assert.equal(live.status, 200);
  assert.deepEqual(await live.json(), { status: 'ok' });
  const early = await get('/health/ready');
  assert.equal(early.status, 503);
  assert.match(early.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  assert.equal(((await early.json()) as { status: string }).status, 'failure');
  isReady = true;
  const ready = await get('/health/ready');
  assert.equal(ready.status, 200);
  assert.deepEqual(await ready.json(), { status: 'ok' });
});
