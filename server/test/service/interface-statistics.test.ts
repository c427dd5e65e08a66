// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { assertRefused, createCatalog, shareService } from '../support/shared-service.ts';
import { Stops } from '../support/stops.ts';
import { startTestService, TestClock, type TestService } from '../support/test-service.ts';
import { createTestStore, testedStore } from '../support/test-store.ts';

const clock = new TestClock(Date.UTC(2026, 0, 1, 12));
const service = shareService({ clock });

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const SHARED = { skip: testedStore === 'embedded' && 'one process serves an embedded store' };

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

async function read(path: string, of = service()): Promise<AnyBody> {
  await of.app.statistics.flush();
  const { status, body } = await of.call('GET', path);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function createKey(given: object, of = service()): Promise<{ id: number; key: string }> {
  const body = { name: 'Counted', scope: { type: 'account' }, ...given };
  return (await of.call('POST', '/management/api-keys', { body })).body;
}

const statisticsOf = (key: { id: number }, query = '') => `/management/api-keys/${key.id}/statistics${query}`;

/** Points without their means, which depend on the machine. */
const counted = (points: AnyBody[]) => points.map(({ meanMs, ...point }) => point);

test('requests of a key are counted by minute, including refused ones and those over its limit (§14.7 rules 1 and 2)', async () => {
  const key = await createKey({ rateLimit: { requestsPerMinute: 4 } });
  const minute = clock.now() - (clock.now() % MINUTE);
  for (const path of ['/projects', '/projects', '/tasks/unknown', '/projects', '/projects', '/projects'])
    await service().call('GET', path, { key: key.key });
  clock.pass(MINUTE);
  await service().call('GET', '/projects', { key: key.key });
  const { requests, ...span } = await read(statisticsOf(key, `?from=${minute}&to=${minute + 5 * MINUTE}`));
  assert.deepEqual(span, { from: minute, to: minute + 5 * MINUTE, step: 60 });
  assert.deepEqual(counted(requests)[0], {
    at: minute,
    requests: 6,
    refused: 1,
    limited: 2,
    failed: 0,
    slow: 0,
  });
  assert.equal(requests[1].at, minute + MINUTE);
  assert.equal(requests[1].requests, 1);
  assert.ok(requests.every(({ meanMs }: AnyBody) => meanMs > 0 && meanMs < 10_000));
});

test('hours and days add up minutes, and the requested time span sets the step (§14.7 rules 1 and 3)', async () => {
  const key = await createKey({});
  clock.pass(DAY - (clock.now() % DAY));
  const midnight = clock.now();
  for (const pass of [0, 5 * MINUTE, HOUR, DAY]) {
    clock.pass(pass);
    await service().call('GET', '/projects', { key: key.key });
    await service().app.statistics.flush();
  }
  const count = async (query: string) => {
    const { requests, step } = await read(statisticsOf(key, query));
    return [step, requests.map(({ at, requests: of }: AnyBody) => [(at - midnight) / HOUR, of])];
  };
  const to = midnight + 3 * DAY;
  assert.deepEqual(await count(`?from=${midnight}&to=${to}`), [
    3_600,
    [
      [0, 2],
      [1, 1],
      [25, 1],
    ],
  ]);
  assert.deepEqual(await count(`?from=${midnight}&to=${to}&step=86400`), [
    86_400,
    [
      [0, 3],
      [24, 1],
    ],
  ]);
  assert.deepEqual(await count(`?from=${midnight}&to=${midnight + HOUR}`), [
    60,
    [
      [0, 1],
      [5 / 60, 1],
    ],
  ]);
  const lastDay = [
    3_600,
    [
      [1, 1],
      [25, 1],
    ],
  ];
  assert.deepEqual(await count(''), lastDay, 'by default the last day in whole hours');
});

test('catalog sizes and updates are given over time, for one project or all in the scope (§14.7 rules 4 and 5)', async () => {
  const catalog = await createCatalog(service());
  clock.pass(HOUR - (clock.now() % HOUR));
  const from = clock.now();
  const read4 = async () => {
    const { catalogs } = await read(
      `/management/statistics?projectId=${catalog.projectId}&from=${from}&step=3600`,
    );
    return catalogs.map(({ at, ...point }: AnyBody) => [(at - from) / HOUR, point]);
  };
  const point = (products: number, rest: object = {}) => ({
    products,
    created: 0,
    changed: 0,
    deleted: 0,
    tasks: 0,
    failedTasks: 0,
    ...rest,
  });
  assert.deepEqual(await read4(), [[0, point(0)]]);
  clock.pass(HOUR);
  await catalog.load({ identifier: 'A' }, { identifier: 'B' });
  assert.deepEqual(await read4(), [
    [0, point(0)],
    [1, point(2, { created: 2, tasks: 2 })],
  ]);
  clock.pass(HOUR);
  await catalog.update({ identifier: 'A', name: 'other' }, { identifier: 'C', name: 'C' });
  clock.pass(2 * MINUTE);
  await catalog.done(await catalog.call('DELETE', '/products', { body: ['B', 'C'] }));
  const changes = point(1, { created: 1, changed: 1, deleted: 2, tasks: 2 });
  assert.deepEqual((await read4()).at(-1), [2, changes]);
  clock.pass(HOUR);
  await catalog.done(await catalog.post('/products/batch/restore'));
  assert.deepEqual((await read4()).at(-1), [3, point(3, { tasks: 1 })]);
  const later = from + 3 * HOUR;
  const rest = await read(`/management/statistics?projectId=${catalog.projectId}&from=${later}&step=3600`);
  assert.equal(rest.catalogs[0].products, 3);
  clock.pass(HOUR);
  const next = await read(`/management/statistics?projectId=${catalog.projectId}&from=${clock.now()}`);
  assert.deepEqual(next.catalogs, [{ at: next.from, ...point(3) }], 'a size holds until the next one');

  const other = await createCatalog(service());
  await other.load({ identifier: 'X' });
  const all = await read(`/management/statistics?from=${clock.now()}&step=3600`);
  assert.ok(all.catalogs.at(-1).products >= 4);
  assert.equal((await service().call('GET', '/management/statistics?projectId=4711')).status, 401);
});

test('a failed task counts as one failed task (§14.7 rule 4)', async () => {
  const catalog = await createCatalog(service(), { maxDeletePercent: 10 });
  await catalog.load({ identifier: 'A' }, { identifier: 'B' });
  const release = await catalog.hold();
  await catalog.post('/products/batch/initiate');
  await catalog.post('/products/batch/upload', {
    products: [
      { identifier: 'A', name: 'A' },
      { identifier: 'B', name: 'B' },
    ],
  });
  const started = await catalog.post('/products/batch/start');
  await release();
  await catalog.done(started);
  await catalog.post('/products/batch/restore');
  const refused = await catalog.post('/products/batch/restore');
  if (refused.status === 200) await service().ended(refused.body.task.id);
  const failed = (await catalog.tasks()).filter(({ taskStatus }) => taskStatus === 'FAILED').length;
  const { catalogs } = await read(`/management/statistics?projectId=${catalog.projectId}&step=3600`);
  assert.equal(
    catalogs.reduce((sum: number, { failedTasks }: AnyBody) => sum + failedTasks, 0),
    failed,
  );
});

test('a key of smaller scope sees statistics of its own keys and projects (§14.7 rule 6)', async () => {
  const catalog = await createCatalog(service());
  const key = await createKey({ scope: { type: 'project', id: catalog.projectId } });
  clock.pass(HOUR);
  const from = clock.now();
  await service().call('GET', '/projects', { key: key.key });
  await service().call('GET', '/projects');
  await service().app.statistics.flush();
  const { body, status } = await service().call('GET', `/management/statistics?from=${from}`, {
    key: key.key,
  });
  assert.equal(status, 200);
  assert.deepEqual([body.requests.length, body.requests[0].requests], [1, 1]);
  assertRefused(await service().call('GET', statisticsOf({ id: 1 }), { key: key.key }), 404);
  assert.equal((await service().call('GET', statisticsOf(key), { key: key.key })).status, 200);
});

test('a time span that cannot be drawn is refused (§14.7 rule 3)', async () => {
  for (const [query, detail] of [
    ['from=2&to=1', '/from must be before /to'],
    [`from=0&to=${DAY * 100}&step=60`, '/step must be larger'],
    ['step=61', '/step'],
    ['from=x', '/from'],
  ] as const) {
    for (const path of ['/management/statistics', '/management/api-keys/1/statistics']) {
      const answer = await service().call('GET', `${path}?${query}`);
      assertRefused(answer, 400, 'Your query params are not valid');
      assert.ok(answer.body.details.join().includes(detail), JSON.stringify(answer.body));
    }
  }
});

test('failed and slow requests are noted, and waiting for a task or an event does not count as slow (§14.7 rules 2 and 7)', async () => {
  const { statistics } = service().app;
  clock.pass(HOUR);
  const from = clock.now();
  const answered = {
    caller: {
      accountId: 1,
      keyId: 1,
      keyName: 'x',
      scope: { type: 'account' as const },
      access: 'manage' as const,
    },
    method: 'GET',
    route: '/slow',
    status: 200,
    seconds: 1.5,
    requestId: 'r',
    projectId: 7,
    isPatient: false,
  } as const;
  statistics.noteRequest({ ...answered, requestId: 'r1' });
  statistics.noteRequest({ ...answered, requestId: 'r2', isPatient: true });
  statistics.noteRequest({
    ...answered,
    requestId: 'r3',
    status: 500,
    seconds: 0.1,
    route: '/failed',
    projectId: undefined,
    reason: 'unexpected',
  });
  for (let index = 0; index < 60; index += 1)
    statistics.noteRequest({ ...answered, requestId: `mild ${index}`, seconds: 1.1 });
  const { noted, requests } = await read(`/management/statistics?from=${from}`);
  assert.equal(noted.length, 50, 'the worst of each ten seconds');
  const findNoted = (id: string) => noted.find(({ requestId }: AnyBody) => requestId === id);
  const shown = { at: from, apiKeyId: 1, method: 'GET' };
  assert.deepEqual(findNoted('r1'), {
    ...shown,
    requestId: 'r1',
    projectId: 7,
    route: '/slow',
    status: 200,
    ms: 1_500,
  });
  assert.deepEqual(findNoted('r3'), {
    ...shown,
    requestId: 'r3',
    projectId: null,
    route: '/failed',
    status: 500,
    ms: 100,
  });
  assert.equal(findNoted('r2'), undefined);
  assert.deepEqual([requests[0].slow, requests[0].failed], [61, 1]);
});

test('minutes are kept for two days, hours for 90 days, and the last size forever (§14.7 rule 8)', async () => {
  const catalog = await createCatalog(service());
  const key = await createKey({});
  await catalog.load({ identifier: 'A' });
  await service().call('GET', '/projects', { key: key.key });
  await service().app.statistics.flush();
  const hour = clock.now() - (clock.now() % HOUR);
  const see = async () => {
    await service().app.statistics.dropOld();
    const minutes = await read(statisticsOf(key, `?from=${hour}&to=${hour + HOUR}&step=60`));
    const hours = await read(statisticsOf(key, `?from=${hour}&to=${hour + HOUR}&step=3600`));
    const path = `/management/statistics?projectId=${catalog.projectId}`;
    const { catalogs } = await read(`${path}&from=${clock.now()}`);
    return [minutes.requests.length, hours.requests.length, catalogs[0].products];
  };
  assert.deepEqual(await see(), [1, 1, 1]);
  clock.pass(2 * DAY + HOUR);
  assert.deepEqual(await see(), [0, 1, 1]);
  clock.pass(90 * DAY);
  assert.deepEqual(await see(), [0, 0, 1]);
});

test('a stopping service writes its counts, which are added to the stored ones (§14.7 rule 9)', async (t) => {
  const store = await createTestStore(t);
  const time = new TestClock();
  const startOne = async (): Promise<[TestService, () => Promise<void>]> => {
    const stops = new Stops();
    const firstService = await startTestService(stops, { store, clock: time });
    return [firstService, () => stops.stopAll()];
  };
  const [first, stopFirst] = await startOne();
  await first.loadCatalog([{ identifier: 'A' }]);
  const key = await createKey({}, first);
  for (let index = 0; index < 3; index += 1) await first.call('GET', '/projects', { key: key.key });
  await stopFirst();
  const [second, stopSecond] = await startOne();
  await second.call('GET', '/projects', { key: key.key });
  const { requests } = await read(statisticsOf(key), second);
  assert.equal(requests[0].requests, 4);
  const { catalogs } = await read(`/management/statistics?projectId=${first.projectId}`, second);
  assert.equal(catalogs.at(-1).products, 1);
  await stopSecond();
});

test('counts of several processes are added up (§14.7 rule 9)', SHARED, async (t) => {
  const store = await createTestStore(t);
  const time = new TestClock();
  const [first, other] = [
    await startTestService(t, { store, clock: time }),
    await startTestService(t, { store, clock: time }),
  ];
  const key = await createKey({}, first);
  for (const each of [first, other, other]) await each.call('GET', '/projects', { key: key.key });
  await Promise.all([first.app.statistics.flush(), other.app.statistics.flush()]);
  assert.equal((await read(statisticsOf(key), first)).requests[0].requests, 3);
});

const SECRET = 'hunter2';

test('the last failed and slow requests of a project are kept, with the beginning of their bodies and without secrets (§14.9)', async () => {
  const { projectId, call } = await createCatalog(service());
  const scope = { type: 'project', id: projectId };
  const { key } = await createKey({ name: 'Night import', scope, access: 'manage' });
  const bad = { products: [{ identifier: 'A1', attributes: [{ key: 'Chuck', value: 'SDS' }] }] };
  await call('POST', `/products?note=a%26b&api%4Bey=${SECRET}`, { key, body: bad });
  const relations = `/management/projects/${projectId}/relations`;
  await call('POST', relations, { key, body: `{"name":"R","password":"${SECRET}", "token": ${SECRET}}` });
  const packed = { key, body: gzipSync(JSON.stringify(bad)), headers: { 'content-encoding': 'gzip' } };
  await call('POST', '/products', packed);
  await call('POST', '/products', { key, body: `{"products":[],"cut":"${'x'.repeat(2 * 1024 * 1024)}` });
  await service().call('GET', `/management/projects/${projectId}/products?limit=0`, {
    key,
    headers: { 'x-api-key': SECRET },
  });
  const { status, body } = await service().call('GET', `/management/projects/${projectId}/requests`);
  assert.equal(status, 200);
  assert.deepEqual([body.items[0].body, body.items[0].bodyBytes, body.items[0].isBodyWhole], [null, 0, true]);
  body.items.shift();
  const [large, gzip, broken, invalid, ...others] = body.items;
  assert.deepEqual(others, []);
  assert.doesNotMatch(JSON.stringify(body), new RegExp(SECRET));
  const { requestId, ms, details, ...fields } = invalid;
  assert.deepEqual(fields, {
    kind: 'failed',
    at: clock.now(),
    method: 'POST',
    url: `/products?note=a%26b&apiKey=•••&projectId=${projectId}`,
    status: 400,
    reason: 'product_invalid',
    message: 'Your body params are not valid',
    by: { type: 'key', id: invalid.by.id, name: 'Night import' },
    body: JSON.stringify(bad),
    bodyBytes: JSON.stringify(bad).length,
    isBodyWhole: true,
  });
  assert.match(requestId, /^[0-9a-f-]{36}$/);
  assert.ok(ms >= 0);
  assert.match(details[0], /^A1: .*name/);
  assert.deepEqual(
    [broken.reason, broken.body, broken.details.length],
    ['body_not_json', '{"name":"R","password":"•••", "token": "•••"}', 1],
  );
  assert.deepEqual([gzip.body, gzip.isBodyWhole], [JSON.stringify(bad), true]);
  assert.deepEqual(
    [large.body.length, large.body.slice(0, 12), large.bodyBytes > 2_000_000, large.isBodyWhole],
    [1_024, '{"products":', true, false],
  );
  assert.deepEqual([body.since <= clock.now(), body.isWhole], [true, testedStore === 'embedded']);
});

test('the last 50 requests of each kind are kept per project, without those of key management, unknown callers and other projects (§14.9)', async () => {
  const { projectId, call } = await createCatalog(service());
  const other = await createCatalog(service());
  const { key, id } = await createKey({
    scope: { type: 'project', id: projectId },
    access: 'manage',
    rateLimit: { requestsPerMinute: 60 },
  });
  const requests = `/management/projects/${projectId}/requests`;
  for (let index = 0; index < 55; index += 1) await call('GET', `/tasks/none-${index}`, { key });
  await service().call('POST', '/management/api-keys', { key, body: { name: SECRET } });
  await call('GET', '/tasks', { key: 'unknown' });
  const caller = {
    accountId: 1,
    keyId: id,
    keyName: 'x',
    scope: { type: 'account' },
    access: 'read',
  } as const;
  const slow = {
    caller,
    method: 'GET',
    route: '/slow',
    status: 200,
    seconds: 1.5,
    requestId: 'slow',
    projectId,
  };
  const sent = { url: '/slow', reason: null, message: null, details: [], body: null };
  const nothing = { bodyBytes: 0, isBodyWhole: true };
  service().app.statistics.keepRequest({ ...slow, isPatient: false }, () => ({ ...sent, ...nothing }));
  const list = async (query: string) => (await service().call('GET', requests + query)).body.items;
  const failed = await list('?kind=failed');
  assert.equal(failed.length, 50);
  assert.ok(failed.every(({ url }: AnyBody) => url.startsWith('/tasks/none-')));
  assert.match(failed[0].url, /none-54\?/);
  assert.deepEqual(
    (await list('?kind=slow')).map(({ requestId, ms }: AnyBody) => [requestId, ms]),
    [['slow', 1_500]],
  );
  assert.equal((await list('')).length, 51);
  await service().call('GET', `/management/projects/${other.projectId}`, { key });
  // Above its rate limit, the service does not look up the project. The key names it.
  clock.pass(MINUTE);
  for (let count = 0; count < 61; count += 1) await call('GET', '/projects', { key });
  assert.equal((await list('?kind=failed'))[0].status, 429);
  assert.deepEqual(
    (await service().call('GET', requests.replace(/\d+/, `${other.projectId}`))).body.items,
    [],
  );
});
