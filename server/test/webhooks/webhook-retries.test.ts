// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver } from '../support/outbound/webhook-receiver.ts';
import { createCatalog, shareService } from '../support/shared-service.ts';
import { TestClock } from '../support/test-service.ts';

const clock = new TestClock(Date.now());
const service = shareService({ clock, settings: { RELATA_FETCH_ALLOW: '127.0.0.1/32' } });
const ENDPOINTS = '/management/webhook-endpoints';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

async function listen(t: Parameters<typeof startReceiver>[0]) {
  const catalog = await createCatalog(service());
  const receiver = await startReceiver(t);
  const scope = { type: 'project', id: catalog.projectId };
  const body = { url: receiver.url, events: ['products.changed'], scope };
  const { id } = (await service().call('POST', ENDPOINTS, { body })).body;
  const path = `${ENDPOINTS}/${id}`;
  const read = async (): Promise<AnyBody> => (await service().call('GET', path)).body;
  /** Waits for a state of the endpoint's deliveries, oldest first. */
  async function until(look: (deliveries: AnyBody[]) => boolean): Promise<AnyBody[]> {
    for (const start = performance.now(); ; await delay(30)) {
      const { items } = (await service().call('GET', `${path}/deliveries`)).body;
      const deliveries = (items as AnyBody[]).toReversed();
      if (look(deliveries)) return deliveries;
      assert.ok(performance.now() - start < 120_000, JSON.stringify(deliveries));
    }
  }
  return { catalog, receiver, path, read, until };
}

test('a failed delivery is retried after 5 s, and later deliveries wait for it (§6.3)', async (t) => {
  const { catalog, receiver, read, until } = await listen(t);
  receiver.answer(503);
  await catalog.update({ identifier: 'A', name: 'first' });
  await catalog.update({ identifier: 'B', name: 'second' });
  const [first, second] = await until(([delivery, other]) => delivery?.attempts === 1 && other !== undefined);
  assert.equal(first.nextAttemptAt - first.lastAttemptAt, 5_000);
  assert.deepEqual([first.status, first.answer.status, second.attempts], ['pending', 503, 0]);
  assert.equal((await read()).failingSince, first.lastAttemptAt);
  assert.match(
    (await service().call('GET', '/metrics')).body,
    /^relata_webhook_endpoints\{state="failing"\} 1$/m,
  );
  receiver.answer(200);
  clock.pass(5_000);
  await until((all) => all.every(({ status }) => status === 'delivered'));
  assert.deepEqual(
    receiver.received.map(({ id }) => id),
    [first.webhookId, first.webhookId, second.webhookId],
  );
  assert.equal((await read()).failingSince, null);
  assert.match(
    (await service().call('GET', '/metrics')).body,
    /^relata_webhook_endpoints\{state="failing"\} 0$/m,
  );
});

test('an endpoint that fails for 3 days is switched off, and can be switched on again (§6.3)', async (t) => {
  const { catalog, receiver, path, read, until } = await listen(t);
  receiver.answer(500);
  await catalog.update({ identifier: 'A', name: 'first' });
  const waits: number[] = [];
  for (let attempts = 1; (await read()).enabled; attempts += 1) {
    const [delivery] = await until(([delivery]) => delivery?.attempts >= attempts);
    if (delivery.status !== 'pending') break;
    waits.push((delivery.nextAttemptAt - delivery.lastAttemptAt) / 60_000);
    clock.pass(delivery.nextAttemptAt - clock.now());
  }
  const hours = waits.reduce((sum, minutes) => sum + minutes, 0) / 60;
  assert.ok(Math.abs(hours - 72) < 0.01, `${waits}`);
  assert.ok(
    waits.length >= 8 && waits.slice(1, -1).every((wait, index) => wait > (waits[index] ?? 0)),
    `${waits}`,
  );
  const off = await read();
  assert.equal(off.enabled, false);
  assert.match(off.switchedOff.reason, /3 days/);
  const [failed] = await until(([delivery]) => delivery?.status === 'failed');

  receiver.answer(200);
  await catalog.update({ identifier: 'B', name: 'heard by nobody' });
  const on = await service().call('PATCH', path, { body: { enabled: true } });
  assert.deepEqual([on.body.enabled, on.body.switchedOff, on.body.failingSince], [true, null, null]);
  await catalog.update({ identifier: 'C', name: 'third' });
  const heard = await receiver.until((all) =>
    all.find(({ payload }) => payload.data.identifiers.includes('C')),
  );
  assert.equal(receiver.received.indexOf(heard), waits.length + 1);
  await service().call('POST', `${path}/deliveries/${failed.id}/replay`);
  const replayed = await receiver.until((all) => all[waits.length + 2]);
  assert.equal(replayed.id, failed.webhookId);
});

test('an endpoint that answers 410 is switched off immediately (§6.3)', async (t) => {
  const { catalog, receiver, read, until } = await listen(t);
  receiver.answer(410);
  await catalog.update({ identifier: 'A', name: 'first' });
  await until(([delivery]) => delivery?.status === 'failed');
  assert.match((await read()).switchedOff.reason, /410/);
});

test('ended deliveries are removed after 7 days (§6.4)', async (t) => {
  const { catalog, until } = await listen(t);
  await catalog.update({ identifier: 'A', name: 'first' });
  await until(([delivery]) => delivery?.status === 'delivered');
  clock.pass(7 * 24 * 3_600_000 + 1);
  await catalog.update({ identifier: 'B', name: 'second' });
  await until(([, other]) => other?.status === 'delivered');
  await service().app.webhooks.dropOld();
  const [latest, ...others] = await until(() => true);
  assert.deepEqual([JSON.parse(latest.request.body).data.identifiers, others], [['B'], []]);
});
