// runs: test, postgres long, citus long
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createChannelProject, sold } from '../support/channels/channel-project.ts';
import { type Receiver, startReceiver, verify } from '../support/outbound/webhook-receiver.ts';
import { assertRefused, createCatalog, shareService } from '../support/shared-service.ts';
import { Stops } from '../support/stops.ts';

const service = shareService({ settings: { RELATA_FETCH_ALLOW: '127.0.0.1/32' } });
const ENDPOINTS = '/management/webhook-endpoints';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const stops = new Stops();
after(() => stops.stopAll());
const receive = () => startReceiver(stops);

/** A project with an endpoint that receives its events. */
async function listen(events: readonly string[], settings?: object) {
  const catalog = await createCatalog(service(), settings);
  const receiver = await receive();
  const endpoint = await createEndpoint(receiver, events, { type: 'project', id: catalog.projectId });
  return { catalog, receiver, endpoint };
}

async function createEndpoint(
  { url }: Pick<Receiver, 'url'>,
  events: readonly string[],
  scope: object,
): Promise<AnyBody> {
  const created = await service().call('POST', ENDPOINTS, { body: { url, events, scope } });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  assert.equal(created.headers.get('location'), `${ENDPOINTS}/${created.body.id}`);
  return created.body;
}

const wait = async <Found>(look: () => Promise<Found | undefined | false>): Promise<Found> => {
  for (const start = performance.now(); ; await delay(50)) {
    const result = await look();
    if (result !== undefined && result !== false) return result;
    assert.ok(performance.now() - start < 120_000, 'it did not happen within two minutes');
  }
};

const deliveriesOf = async ({ id }: AnyBody, query = '') =>
  (await service().call('GET', `${ENDPOINTS}/${id}/deliveries${query}`)).body.items as AnyBody[];

/** Waits until a delivery of an endpoint has ended. */
const ended = (endpoint: AnyBody, id: number) =>
  wait(async () =>
    (await deliveriesOf(endpoint)).find((delivery) => delivery.id === id && delivery.status !== 'pending'),
  );

test('events are signed and delivered in the order in which they happened (§6.2, §6.3)', async () => {
  const types = ['task.finished', 'task.failed', 'products.changed', 'catalog.committed'];
  const { catalog, receiver, endpoint } = await listen(types);
  const commit = await catalog.load({ identifier: 'A1' }, { identifier: 'A2' });
  const update = await catalog.update({ identifier: 'A2', name: 'new' }, { identifier: 'A3', name: 'three' });
  await catalog.done(await catalog.call('DELETE', '/products', { body: ['A1'] }));
  const all = await receiver.until((got) => got.length >= 8 && got);
  for (const event of all) verify(endpoint.secret, event);
  assert.throws(() => verify('whsec_b3RoZXI=', all[0]));
  assert.deepEqual(
    all.map(({ payload }) => payload.type),
    [
      ...['catalog.committed', 'products.changed', 'task.finished', 'task.finished'],
      ...['products.changed', 'task.finished', 'products.changed', 'task.finished'],
    ],
  );
  const [committed, first, , , second, finished, third] = all.map(({ payload }) => payload);
  const { projectId } = catalog;
  const counts = { created: 2, changed: 0, unchanged: 0, deleted: 0 };
  assert.deepEqual(committed?.data, { projectId, taskId: commit.id, ...counts });
  const page = { projectId, page: 1, hasMore: false };
  const [ofCommit, ofUpdate] = [commit, update].map(({ id }) => ({ ...page, taskId: id }));
  const created = ['A1', 'A2'];
  assert.deepEqual(first?.data, { ...ofCommit, identifiers: created, created, deleted: [] });
  assert.deepEqual(second?.data, { ...ofUpdate, identifiers: ['A2', 'A3'], created: ['A3'], deleted: [] });
  assert.deepEqual(third?.data.deleted, ['A1']);
  assert.equal(finished?.data.task.id, update.id);
  assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
  assert.match(committed?.timestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test('a restore sends events of the restored products, and large changes are sent in pages (§6.2)', async () => {
  const { catalog, receiver } = await listen(['products.changed'], { keptCommits: 1 });
  const many = Array.from({ length: 2_500 }, (_, index) => ({ identifier: `P${index}` }));
  await catalog.load(...many);
  const pages = await receiver.of('products.changed', 3);
  assert.deepEqual(
    pages.map(({ payload: { data } }) => [data.page, data.identifiers.length, data.hasMore]),
    [
      [1, 1_000, true],
      [2, 1_000, true],
      [3, 500, false],
    ],
  );
  assert.equal(new Set(pages.flatMap(({ payload }) => payload.data.identifiers)).size, 2_500);
  await catalog.load({ identifier: 'P0', name: 'changed' }, { identifier: 'Q' });
  await receiver.of('products.changed', 6);
  await catalog.done(await catalog.post('/products/batch/restore'));
  const restored = (await receiver.of('products.changed', 9)).slice(6).map(({ payload }) => payload.data);
  assert.deepEqual(
    restored.flatMap(({ deleted }) => deleted),
    ['Q'],
  );
  assert.equal(restored.flatMap(({ created }) => created).length, 2_499);
});

test('a refused commit, a failed run and changes of relations send events (§6.2)', async () => {
  const types = [
    'catalog.commit_refused',
    'relation.changed',
    'relation.unhealthy',
    'pipeline.failed',
    'task.failed',
  ];
  const { catalog, receiver } = await listen(types, { maxDeletePercent: 10 });
  await catalog.load({ identifier: 'A' }, { identifier: 'B' });
  await catalog.post('/products/batch/initiate');
  await catalog.post('/products/batch/upload', { products: [{ identifier: 'A', name: 'A' }] });
  assert.equal((await catalog.post('/products/batch/start')).status, 400);
  const [refused] = await receiver.of('catalog.commit_refused');
  assert.equal(refused?.payload.data.error.code, 'delete_guard');

  const project = `/management/projects/${catalog.projectId}`;
  const all = { source: { all: [] }, target: { all: [] } };
  const relation = {
    name: 'Fits',
    tag: 'fits',
    ...all,
    match: [{ source: 'Missing', operator: 'equals', target: 'Missing' }],
  };
  const { body } = await service().call('POST', `${project}/relations`, { body: relation });
  assert.equal(body.misconfigured, true, JSON.stringify(body));
  const [unhealthy] = await receiver.of('relation.unhealthy');
  assert.equal(unhealthy?.payload.data.relationId, body.id);
  assert.match(unhealthy?.payload.data.problem, /Missing/);
  await service().call('DELETE', `${project}/relations/${body.id}`);
  const changes = await receiver.of('relation.changed', 2);
  assert.deepEqual(
    changes.map(({ payload }) => payload.data.change),
    ['created', 'deleted'],
  );

  const pipeline = {
    name: 'Feed',
    source: { type: 'http', url: 'http://127.0.0.1:9/x' },
    format: { type: 'csv' },
    mode: 'full',
    mapping: { identifier: 'sku', name: 'name' },
    trigger: { type: 'manual' },
  };
  const made = await service().call('POST', `${project}/pipelines`, { body: pipeline });
  await service().call('POST', `${project}/pipelines/${made.body.id}/run`);
  const [failed] = await receiver.of('pipeline.failed');
  assert.equal(failed?.payload.data.pipelineId, made.body.id);
  assert.equal(failed?.payload.data.error.code, 'source_unreadable');
  assert.equal((await receiver.of('task.failed'))[0]?.payload.data.taskId, failed?.payload.data.taskId);
});

test('a build that publishes sends an event, even if a delivery fails (§6.2, §16.8)', async () => {
  const project = await createChannelProject(service());
  const receiver = await receive();
  const { projectId } = project;
  await createEndpoint(receiver, ['channel.published', 'task.failed'], { type: 'project', id: projectId });
  await project.load(sold('A1'), sold('A2'));
  const refused = {
    type: 'sftp',
    host: '10.0.0.1',
    user: 'shop',
    password: 'p',
    hostKey: `SHA256:${'A'.repeat(43)}`,
  };
  const definition = {
    name: 'Shop',
    format: { type: 'ndjson' },
    maxDeletePercent: 0,
    destinations: [refused],
  };
  const channel = await project.create(definition);
  const task = await project.build(channel);
  const [published, failed] = await receiver.until((got) => got.length >= 2 && got);
  assert.deepEqual(
    [published?.payload.type, published?.payload.data],
    ['channel.published', { projectId, taskId: task.id, channelId: channel.id, name: 'Shop', rows: 2 }],
  );
  assert.equal(failed?.payload.data.task.error.code, 'channel_undelivered');
  await project.manage('PUT', `/${channel.id}`, { body: { ...channel, filter: { identifiers: ['A1'] } } });
  assert.equal((await project.build(channel)).error.code, 'channel_shrunk');
  const next = await receiver.until((got) => got.length >= 3 && got.slice(2));
  assert.deepEqual(
    next.map(({ payload }) => payload.data.task.error.code),
    ['channel_shrunk'],
    'unpublished files send no event',
  );
});

test('an endpoint receives only events of its scope, and a project without endpoints stores no event (§6.1)', async () => {
  const [firstCatalog, other] = [await createCatalog(service()), await createCatalog(service())];
  const { body: project } = await service().call('GET', `/management/projects/${firstCatalog.projectId}`);
  const receivers = [await receive(), await receive()] as const;
  const scope = { type: 'project-group', id: project.projectGroupId };
  await createEndpoint(receivers[0], ['products.changed'], scope);
  const account = await createEndpoint(receivers[1], ['products.changed'], { type: 'account' });
  await other.update({ identifier: 'O', name: 'other' });
  await firstCatalog.update({ identifier: 'A', name: 'one' });
  const [event] = await receivers[0].of('products.changed');
  assert.equal(event?.payload.data.projectId, firstCatalog.projectId);
  const both = await receivers[1].of('products.changed', 2);
  assert.deepEqual(
    both.map(({ payload }) => payload.data.projectId).sort(),
    [firstCatalog.projectId, other.projectId].sort(),
  );
  assert.equal(receivers[0].received.length, 1);
  await service().call('DELETE', `${ENDPOINTS}/${account.id}`);
  await other.update({ identifier: 'O', name: 'heard by nobody' });
  const rows = await service().store.readCatalog<{ n: unknown }>(
    other.projectId,
    'select count(*) as n from catalog_event',
  );
  assert.equal(Number(rows[0]?.n), 0);
});

test('keys access endpoints of their scope and below, and no answer shows a secret twice (§6.1)', async () => {
  const { catalog, endpoint } = await listen(['task.failed']);
  const other = await createCatalog(service());
  const keyOf = async (projectId: number) =>
    (
      await service().call('POST', '/management/api-keys', {
        body: { name: 'k', scope: { type: 'project', id: projectId } },
      })
    ).body.key;
  const [own, foreign] = [await keyOf(catalog.projectId), await keyOf(other.projectId)];
  const path = `${ENDPOINTS}/${endpoint.id}`;
  const read = await service().call('GET', path, { key: own });
  assert.equal(read.status, 200);
  assert.match(endpoint.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(JSON.stringify(read.body).includes('whsec_'), false);
  const etag = read.headers.get('etag') ?? '';
  assert.equal(
    (await service().call('GET', path, { key: own, headers: { 'if-none-match': etag } })).status,
    304,
  );
  assert.equal((await service().call('GET', path, { key: foreign })).status, 404);
  assert.equal((await service().call('POST', `${path}/test`, { key: foreign })).status, 404);
  assert.deepEqual((await service().call('GET', ENDPOINTS, { key: foreign })).body.items, []);
  const wide = { url: endpoint.url, events: ['task.failed'], scope: { type: 'account' } };
  assertRefused(await service().call('POST', ENDPOINTS, { key: own, body: wide }), 401);
  for (const body of [
    { ...wide, events: ['task.unknown'] },
    { ...wide, events: [] },
    { ...wide, url: 'ftp://example.org/' },
    { ...wide, url: 'https://user:word@example.org/' },
    { ...wide, secret: 'mine' },
  ])
    assertRefused(await service().call('POST', ENDPOINTS, { body }), 400);
  const changed = await service().call('PATCH', path, {
    body: { events: ['task.finished'] },
    headers: { 'if-match': etag },
  });
  assert.deepEqual(changed.body.events, ['task.finished']);
  assertRefused(
    await service().call('PATCH', path, { body: { enabled: false }, headers: { 'if-match': etag } }),
    412,
  );
  const twice = { 'idempotency-key': `made ${endpoint.id}` };
  const make = () =>
    service().call('POST', ENDPOINTS, { body: { ...wide, events: ['task.failed'] }, headers: twice });
  const [first, again] = [await make(), await make()];
  assert.equal(again.body.id, first.body.id);
  assert.equal(again.body.secret, undefined);
  const log = await service().call('GET', `/management/audit-log?action=webhook-endpoint`);
  const shown = JSON.stringify(log.body);
  assert.match(shown, /webhook-endpoint.created/);
  assert.equal(shown.includes('whsec_') || shown.includes('key=1'), false);
  assert.equal((await service().call('DELETE', `${ENDPOINTS}/${first.body.id}`)).status, 200);
});

test('during a rotation both secrets sign, and afterwards only the new one (§6.3)', async () => {
  const { receiver, endpoint } = await listen(['task.failed']);
  const path = `${ENDPOINTS}/${endpoint.id}`;
  const rotated = await service().call('POST', `${path}/rotate-secret`, { body: { overlapSeconds: 3_600 } });
  assert.notEqual(rotated.body.secret, endpoint.secret);
  const test = await service().call('POST', `${path}/test`);
  assert.equal(test.status, 200);
  const [both] = await receiver.of('webhook.test');
  for (const secret of [endpoint.secret, rotated.body.secret]) verify(secret, both);
  const last = await service().call('POST', `${path}/rotate-secret`);
  await service().call('POST', `${path}/test`);
  const [, replayed] = await receiver.of('webhook.test', 2);
  verify(last.body.secret, replayed);
  for (const secret of [endpoint.secret, rotated.body.secret]) assert.throws(() => verify(secret, replayed));
});

test('deliveries show request, answer and time, and a replay keeps its id (§6.4)', async () => {
  const { catalog, receiver, endpoint } = await listen(['products.changed']);
  await catalog.update({ identifier: 'A', name: 'A' });
  const [event] = await receiver.of('products.changed');
  const delivered = await wait(async () => (await deliveriesOf(endpoint, '?status=delivered'))[0]);
  assert.equal(delivered.webhookId, event?.id);
  assert.equal(delivered.request.body, event?.body);
  assert.equal(delivered.request.url, receiver.url);
  assert.deepEqual(delivered.answer, { status: 204, body: '' });
  assert.ok(delivered.durationMs >= 0 && delivered.lastAttemptAt > 0);
  assert.equal(JSON.stringify(delivered).includes('webhook-signature'), false);
  receiver.answer(302, { location: 'http://127.0.0.1:9/' });
  const path = `${ENDPOINTS}/${endpoint.id}/deliveries/${delivered.id}/replay`;
  const replay = await service().call('POST', path);
  assert.equal(replay.body.kind, 'replay');
  const failed = await ended(endpoint, replay.body.id);
  assert.deepEqual([failed.status, failed.answer.status], ['failed', 302]);
  assert.match(failed.error, /redirect/);
  assert.deepEqual(
    receiver.received.map(({ id }) => id),
    [event?.id, event?.id],
  );
  assert.equal(
    (await service().call('POST', `${ENDPOINTS}/${endpoint.id}/deliveries/999999999/replay`)).status,
    404,
  );
  const paged = await service().call('GET', `${ENDPOINTS}/${endpoint.id}/deliveries?limit=1`);
  assert.equal(paged.body.items[0].id, replay.body.id);
  const next = await deliveriesOf(endpoint, `?limit=1&cursor=${paged.body.nextCursor}`);
  assert.equal(next[0].id, delivered.id);
});

test('the service does not connect to addresses that are not public (§6.3)', async () => {
  for (const url of [
    'http://127.0.0.2:9/',
    'http://169.254.169.254/latest',
    'http://[::1]:9/',
    'http://10.0.0.1/',
  ]) {
    const endpoint = await createEndpoint({ url }, ['task.failed'], {
      type: 'project',
      id: service().projectId,
    });
    const { body } = await service().call('POST', `${ENDPOINTS}/${endpoint.id}/test`);
    const failed = await ended(endpoint, body.id);
    assert.equal(failed.status, 'failed');
    assert.match(failed.error, /is refused: it leads to/);
    assert.equal(failed.answer, null);
  }
});
