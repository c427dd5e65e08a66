import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Type } from 'typebox';
import type { KeyCaller } from '../../kernel/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { ErrorAnswer, ListQuery } from '../answers/answers.ts';
import type { Guards } from '../guards/guards.ts';
import { addHealthRoutes } from '../server/health-routes.ts';
import { createMetrics, createServer, measureRequests, type Server, serveMetrics } from '../server/server.ts';
import { describeServer, documentServer, serveDocuments } from './docs.ts';

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
    const found = callers[value];
    if (found === undefined) throw new ServiceError('scope_refused');
    return found;
  },
  findUser() {
    throw new ServiceError('not_signed_in');
  },
  countRequest: async () => undefined,
  chooseProject: () => ({ id: 7, name: 'Bikes', accountId: 1 }),
  choosePathProject: () => ({ id: 7, name: 'Bikes', accountId: 1 }),
};

const Part = Type.Object({ identifier: Type.String({ maxLength: 255 }) }, { title: 'Part' });
const Bike = Type.Object(
  {
    identifier: Type.String({ minLength: 1, maxLength: 255, description: 'the SKU, <b>exact</b>' }),
    parts: Type.Optional(Type.Array(Part, { maxItems: 3 })),
    colours: Type.Record(Type.String(), Type.String()),
    state: Type.Union([Type.Literal('NEW'), Type.Literal('USED')]),
    frame: Type.Union([Part, Type.Null()], { description: 'the frame' }),
  },
  { title: 'Bike' },
);

function addBikeRoutes(server: Server): void {
  const answer = Type.Object({ bikes: Type.Array(Bike) });
  server.get(
    '/bikes/:bikeId/parts',
    {
      config: { guard: 'project' },
      schema: {
        summary: 'Parts of a <bike>',
        description: 'Lists `parts`.\n\nTwice.',
        params: Type.Object({ bikeId: Type.Integer() }),
        querystring: Type.Object({ ...ListQuery.properties, apiKey: Type.Optional(Type.String()) }),
        response: { 200: answer },
      },
    },
    async () => ({ bikes: [] }),
  );
  server.post(
    '/bikes',
    {
      config: { guard: 'project', access: 'write', body: 'raw' },
      schema: { body: Bike, response: { 200: answer } },
    },
    async () => ({ bikes: [] }),
  );
  server.get(
    '/management/bikes',
    {
      config: { guard: 'management' },
      schema: { response: { 409: { ...ErrorAnswer, description: 'taken' } } },
    },
    async () => undefined,
  );
  server.get('/hidden', { schema: { hide: true } }, async () => 'ok');
}

const OPERATIONS = 300;

interface Served {
  readonly isReady?: () => boolean;
  readonly addRoutes?: (server: Server) => void;
  readonly document?: URL;
}

async function startServer(t: TestContext, { isReady = () => true, addRoutes, document }: Served = {}) {
  const server = createServer(
    { logLevel: 'silent', trustedProxies: [], corsOrigins: [], bodyBudgetMib: 8 },
    guards,
  );
  t.after(() => server.close());
  const metrics = createMetrics({
    dataDir: '.',
    listTaskKinds: () => ['commit'],
    isReady,
    gauges: [{ name: 'relata_tasks_waiting', help: 'Waiting.', read: async () => 3 }],
  });
  await documentServer(server, '1.2.3');
  measureRequests(server, [metrics.measureRequest]);
  addBikeRoutes(server);
  addRoutes?.(server);
  addHealthRoutes(
    server,
    async () => isReady(),
    async () => [],
  );
  serveMetrics(server, metrics);
  serveDocuments(server, document);
  const origin = await server.listen({ host: '127.0.0.1', port: 0 });
  const get = (path: string, key?: string) =>
    fetch(origin + path, { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } });
  return { server, metrics, get };
}

test('the document is OpenAPI 3.1 with the version and both ways to send a key', async (t) => {
  const { get } = await startServer(t);
  const answer = await get('/openapi.json');
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  const document = (await answer.json()) as Record<string, Record<string, unknown>>;
  assert.equal(document.openapi, '3.1.0');
  assert.equal(document.info?.version, '1.2.3');
  assert.deepEqual(Object.keys(document.components?.securitySchemes as object), [
    'bearer',
    'apiKey',
    'session',
  ]);
  assert.ok(!('/hidden' in (document.paths ?? {})));
});

test('security, access, name and chapter of an operation follow from its route', async (t) => {
  const { server } = await startServer(t);
  const { paths } = describeServer(server);
  const parts = paths['/bikes/{bikeId}/parts']?.get;
  assert.equal(parts?.operationId, 'getBikesByBikeIdParts');
  assert.deepEqual(parts?.security, [{ bearer: [] }, { apiKey: [] }, { session: [] }]);
  assert.equal(parts?.['x-access'], 'read');
  assert.equal(paths['/bikes']?.post?.['x-access'], 'write');
  assert.deepEqual(paths['/management/bikes']?.get?.security, [{ bearer: [] }, { session: [] }]);
  assert.deepEqual(paths['/management/bikes']?.get?.tags, ['Management']);
  assert.deepEqual(paths['/health/live']?.get?.security, []);
  assert.deepEqual(paths['/health/live']?.get?.tags, ['Service']);
  const names = Object.values(paths).flatMap((path) => Object.values(path).map((one) => one.operationId));
  assert.equal(new Set(names).size, names.length);
});

test('the credentials are no parameters of an operation', async (t) => {
  const { server } = await startServer(t);
  const parameters = describeServer(server).paths['/bikes/{bikeId}/parts']?.get?.parameters ?? [];
  assert.deepEqual(parameters.map((one) => `${one.in} ${one.name}`).sort(), [
    'path bikeId',
    'query cursor',
    'query limit',
  ]);
});

test('a raw body is documented and not validated by the server', async (t) => {
  const { server } = await startServer(t);
  const body = describeServer(server).paths['/bikes']?.post?.requestBody;
  assert.deepEqual(body?.content['application/json']?.schema, { $ref: '#/components/schemas/Bike' });
});

test('a schema with a title is a component, its description stays at its place', async (t) => {
  const { server } = await startServer(t);
  const { components, paths } = describeServer(server);
  assert.deepEqual(Object.keys(components?.schemas ?? {}), [
    'Bike',
    'Error',
    'Health',
    'Part',
    'ProductViolation',
    'Readiness',
  ]);
  const bike = components?.schemas?.Bike?.properties;
  assert.deepEqual(bike?.parts?.items, { $ref: '#/components/schemas/Part' });
  assert.equal(bike?.frame?.description, 'the frame');
  const taken = paths['/management/bikes']?.get?.responses['409'];
  assert.equal(taken?.description, 'taken');
  assert.deepEqual(taken?.content?.['application/json']?.schema, { $ref: '#/components/schemas/Error' });
});

test('the refusals of the checks before a handler are part of every operation', async (t) => {
  const { server } = await startServer(t);
  const { paths } = describeServer(server);
  const statusesOf = (path: string, method: string) => Object.keys(paths[path]?.[method]?.responses ?? {});
  assert.deepEqual(statusesOf('/bikes/{bikeId}/parts', 'get'), [
    '200',
    '400',
    '401',
    '403',
    '404',
    '429',
    '5XX',
  ]);
  assert.deepEqual(statusesOf('/bikes', 'post'), ['200', '400', '401', '403', '413', '429', '507', '5XX']);
  assert.deepEqual(statusesOf('/management/bikes', 'get'), ['200', '401', '403', '409', '429', '5XX']);
  assert.deepEqual(statusesOf('/health/live', 'get'), ['200', '5XX']);
  assert.equal(paths['/management/bikes']?.get?.responses['200']?.description, 'OK');
});

test('the page allows its own style and nothing else', async (t) => {
  const { get } = await startServer(t);
  const answer = await get('/docs/api');
  const page = await answer.text();
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
  const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  const policy = answer.headers.get('content-security-policy') ?? '';
  assert.ok(policy.startsWith(`default-src 'none'; style-src 'sha256-${hash}';`), policy);
  assert.doesNotMatch(page, /<script|<link|<img|\sstyle=|\son\w+=|url\(|@import|https?:\/\//);
  assert.match(page, /<h3>Parts of a &lt;bike&gt;/);
});

test('the written document is served as it is, and one that could not be read is read again (§10.3)', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relata-document-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const document = pathToFileURL(join(folder, 'openapi.json'));
  mkdirSync(document);
  const { server, get } = await startServer(t, { document });
  for (const path of ['/openapi.json', '/docs/api']) assert.equal((await get(path)).status, 500, path);
  rmdirSync(document);
  const written = `${JSON.stringify({ ...describeServer(server), info: { title: 'As written', version: '9' } }, null, 1)}\n`;
  writeFileSync(document, written);
  assert.equal(await (await get('/openapi.json')).text(), written);
  assert.match(await (await get('/docs/api')).text(), /<title>As written 9 API<\/title>/);
});

test('other requests come in between while the page is made, which has half a second of work (§10.3)', async (t) => {
  const { server } = await startServer(t, {
    addRoutes: (to) => {
      for (let at = 0; at < OPERATIONS; at += 1) to.get(`/wheels/${at}`, async () => ({}));
    },
  });
  server.swagger();
  let turns = 0;
  let isMade = false;
  const made = server.inject('/docs/api').then((answer) => {
    isMade = true;
    return answer;
  });
  while (!isMade) {
    await nextTurn();
    turns += 1;
  }
  assert.equal((await made).body.match(/<h3>\/wheels\//g)?.length, OPERATIONS);
  assert.ok(turns > OPERATIONS, `${turns} turns`);
});

test('metrics take an account key of any access', async (t) => {
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

test('requests are measured by method, route pattern and status', async (t) => {
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

test('a figure that cannot be read is left out, and the others are given (docs/operating.md, "Metrics")', async () => {
  let isAway = false;
  const read = async <Figures>(figures: Figures): Promise<Figures> => {
    if (isAway) throw new Error('the database is away');
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

test('tasks, refused commits and products are counted from 0', async () => {
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

test('the free space of the data directory and figures of the process are metrics', async () => {
  const { text } = await createMetrics({ dataDir: '.' }).print();
  assert.match(text, /^relata_data_dir_free_bytes [1-9]\d*(\.\d+e\+\d+)?$/m);
  assert.match(text, /^relata_process_resident_memory_bytes \d/m);
  assert.doesNotMatch(text, /^relata_tasks_waiting/m);
});

test('live answers always, ready only while requests are served', async (t) => {
  let isReady = false;
  const { get } = await startServer(t, { isReady: () => isReady });
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
