// runs: deep, postgres deep, waits
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startReceiver } from '../support/outbound/webhook-receiver.ts';
import { createCatalog } from '../support/shared-service.ts';
import { startTestService, TestClock } from '../support/test-service.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of any shape
type AnyBody = any;

/** Events of several projects to one endpoint, which receives the given types. */
async function listen(t: TestContext, projects: number, events: readonly string[]) {
  const clock = new TestClock(Date.now());
  const settings = { RELATA_FETCH_ALLOW: '127.0.0.1/32' };
  const service = await startTestService(t, { clock, settings });
  const receiver = await startReceiver(t);
  const catalogs = [];
  for (let made = 0; made < projects; made += 1) catalogs.push(await createCatalog(service));
  const body = { url: receiver.url, events, scope: { type: 'account' } };
  const { body: endpoint } = await service.call('POST', '/management/webhook-endpoints', { body });
  /** The clock must not move before a failure is stored, because its repetition would be due later. */
  const untilFailed = async (wanted: number) => {
    for (;;) {
      const path = `/management/webhook-endpoints/${endpoint.id}/deliveries?limit=100`;
      const { items } = (await service.call('GET', path)).body;
      if (items.filter((delivery: AnyBody) => delivery.lastAttemptAt !== null).length === wanted) return;
      await sleep(20);
    }
  };
  return { clock, service, receiver, catalogs, untilFailed };
}

const RELATION = { name: 'All', tag: 'all', source: { all: [] }, target: { all: [] }, match: [] };

const UNREADABLE = 'creating the deliveries of the events of a project failed';
const damage = (projectId: number | undefined) =>
  `insert into service_event (project_id, id, type, at, data)
    values (${projectId}, 'msg_${projectId}', 'relation.changed', 0, 'no JSON')`;

test('unreadable events of one project do not delay events of other projects (§6.3)', async (t) => {
  const { clock, service, receiver, catalogs, untilFailed } = await listen(t, 2, ['relation.changed']);
  const [damaged, sound] = catalogs.map(({ projectId }) => projectId);
  const relate = (projectId: number | undefined, tag: string) =>
    service.call('POST', `/management/projects/${projectId}/relations`, { body: { ...RELATION, tag } });
  receiver.answer(503);
  await relate(sound, 'first');
  const first = await receiver.until(([event]) => event);
  await service.store.change(damage(damaged));
  await receiver.until(() => service.log.some((line) => line.includes(UNREADABLE)));

  await untilFailed(1);
  receiver.answer(204);
  clock.pass(5_000);
  await receiver.until((all) => all[1]?.id === first.id);
  await relate(sound, 'second');
  const second = await receiver.until((all) => all[2]);
  assert.deepEqual([second.payload.data.projectId, second.id === first.id], [sound, false]);
});

test('each project with unreadable events is logged once, and a failing database is logged as well (§6.3)', async (t) => {
  const { service, receiver, catalogs } = await listen(t, 3, ['relation.changed']);
  const [firstId, two, sound] = catalogs.map(({ projectId }) => projectId);
  const countLines = (text: string, projectId?: number) =>
    service.log
      .filter((line) => line.includes(text))
      .filter((line) => projectId === undefined || JSON.parse(line).project === projectId).length;
  const lookAgain = async () => {
    for (const tag of ['first', 'second', 'third']) {
      const body = { ...RELATION, tag: `${tag} of ${receiver.received.length}` };
      const before = receiver.received.length;
      await service.call('POST', `/management/projects/${sound}/relations`, { body });
      await receiver.until((all) => all.length > before);
    }
  };
  for (const projectId of [firstId, two]) {
    await service.store.change(damage(projectId));
    await receiver.until(() => countLines(UNREADABLE, projectId) > 0);
    await lookAgain();
  }
  assert.deepEqual([countLines(UNREADABLE, firstId), countLines(UNREADABLE, two)], [1, 1]);

  await service.store.change('alter table webhook_endpoint rename to lost');
  await receiver.until(() => countLines('"work":"webhooks"') > 0);
  await service.store.change('alter table lost rename to webhook_endpoint');
  await service.store.change(`delete from service_event where project_id = ${firstId}`);
  await lookAgain();
  await service.store.change(damage(firstId));
  await receiver.until(() => countLines(UNREADABLE, firstId) > 1);
  assert.deepEqual([countLines(UNREADABLE, firstId), countLines(UNREADABLE, two)], [2, 1]);
});

test('an endpoint receives at most 4 deliveries at a time, even if more projects are due (docs/operating/data-flows.md)', async (t) => {
  const { clock, receiver, catalogs, untilFailed } = await listen(t, 9, ['products.changed']);
  receiver.answer(503);
  for (const catalog of catalogs) await catalog.update({ identifier: 'A', name: 'new' });
  await untilFailed(catalogs.length);

  const waiting: (() => void)[] = [];
  let most = 0;
  receiver.answer(async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    most = Math.max(most, waiting.length);
    await promise;
    return 204;
  });
  clock.pass(5_000);
  for (let left = catalogs.length; left > 0; left -= 1) {
    await receiver.until(() => waiting.length >= Math.min(left, 4));
    waiting.shift()?.();
  }
  assert.equal(most, 4);
});

test('deliveries that an earlier program queued are sent in order, from the state of their lane (§6.3)', async (t) => {
  const { service, receiver, catalogs } = await listen(t, 1, ['relation.changed']);
  const [projectId] = catalogs.map((catalog) => catalog.projectId);
  const { items } = (await service.call('GET', '/management/webhook-endpoints')).body;
  const [{ id: endpointId }] = items;
  const body = JSON.stringify({ type: 'relation.changed', timestamp: '2026-01-01T00:00:00.000Z', data: {} });
  for (const number of [901, 902]) {
    await service.store.change(`insert into webhook_message (number, id, project_id, type, at, body)
      values (${number}, 'msg_${number}', ${projectId}, 'relation.changed', 1, '${body}')`);
    await service.store.change(`insert into webhook_delivery
      (endpoint_id, lane, message_number, kind, status, attempts, created_at, first_attempt_at)
      values (${endpointId}, ${projectId}, ${number}, 'event', 'pending', ${number === 901 ? 3 : 0}, 1, null)`);
  }
  // It failed three times and is due again, and the process that leased it has ended.
  await service.store.change(`insert into webhook_queue (endpoint_id, lane, due_at, tries, leased_by, lease_until)
    values (${endpointId}, ${projectId}, 1, 3, 'a former process', 1)`);
  await receiver.until((all) => all[1]);
  assert.deepEqual(
    receiver.received.map(({ id }) => id),
    ['msg_901', 'msg_902'],
  );
  const path = `/management/webhook-endpoints/${endpointId}/deliveries`;
  let stored: AnyBody[] = [];
  while (stored.length < 2 || stored.some(({ status }) => status !== 'delivered')) {
    stored = (await service.call('GET', path)).body.items;
    await sleep(20);
  }
  assert.deepEqual(
    stored.map(({ attempts }) => attempts),
    [1, 4],
  );
});
