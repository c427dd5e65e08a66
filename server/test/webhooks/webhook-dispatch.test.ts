import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startReceiver } from '../support/outbound/webhook-receiver.ts';
import { createCatalog } from '../support/shared-service.ts';
import { startTestService, TestClock } from '../support/test-service.ts';

/** Events of several projects to one endpoint, which hears of all that it is told to. */
async function listen(t: TestContext, projects: number, events: readonly string[]) {
  const clock = new TestClock(Date.now());
  const settings = { RELATA_FETCH_ALLOW: '127.0.0.1/32' };
  const service = await startTestService(t, { clock, settings });
  const receiver = await startReceiver(t);
  const catalogs = [];
  for (let made = 0; made < projects; made += 1) catalogs.push(await createCatalog(service));
  const body = { url: receiver.url, events, scope: { type: 'account' } };
  await service.call('POST', '/management/webhook-endpoints', { body });
  return { clock, service, receiver, catalogs };
}

const RELATION = { name: 'All', tag: 'all', source: { all: [] }, target: { all: [] }, match: [] };

test('a project whose events cannot be read keeps those of others from nothing (§6.3)', async (t) => {
  const { clock, service, receiver, catalogs } = await listen(t, 2, ['relation.changed']);
  const [damaged, sound] = catalogs.map(({ projectId }) => projectId);
  const relate = (projectId: number | undefined, tag: string) =>
    service.call('POST', `/management/projects/${projectId}/relations`, { body: { ...RELATION, tag } });
  receiver.answer(503);
  await relate(sound, 'first');
  const first = await receiver.until(([event]) => event);
  await service.store.change(
    `insert into service_event (project_id, id, type, at, data) values (${damaged}, 'msg_damaged', 'relation.changed', 0, 'no JSON')`,
  );
  const isLogged = () => service.log.some((line) => line.includes('webhooks cannot be looked after'));
  await receiver.until(isLogged);

  receiver.answer(204);
  clock.pass(5_000);
  await receiver.until((all) => all[1]?.id === first.id);
  await relate(sound, 'second');
  const second = await receiver.until((all) => all[2]);
  assert.deepEqual([second.payload.data.projectId, second.id === first.id], [sound, false]);
});

test('an endpoint is sent to 4 times at once, also when more projects are due together (docs/operating.md)', async (t) => {
  const { clock, receiver, catalogs } = await listen(t, 9, ['products.changed']);
  receiver.answer(503);
  for (const catalog of catalogs) await catalog.update({ identifier: 'A', name: 'new' });
  await receiver.until((all) => all.length === catalogs.length);

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
