// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver, verify } from '../support/outbound/webhook-receiver.ts';
import { startTestService, type TestService } from '../support/test-service.ts';
import { createTestStore, type TestStore } from '../support/test-store.ts';

/** The storage of endpoints' secrets (docs/operating/settings.md, "Secrets"). */

const ENDPOINTS = '/management/webhook-endpoints';
const keyOf = (text: string) => Buffer.alloc(32, text).toString('base64');
const [FIRST, SECOND, THIRD] = [keyOf('first'), keyOf('second'), keyOf('third')];

const start = (t: TestContext, store: TestStore, keys: string) =>
  startTestService(t, { store, settings: { RELATA_FETCH_ALLOW: '127.0.0.1/32', RELATA_SECRET_KEYS: keys } });

async function readStored(store: TestStore, id: number): Promise<string> {
  const storage = await store.open();
  const table = storage.database.read.selectFrom('webhook_endpoint').select('secrets').where('id', '=', id);
  const { secrets } = await table.executeTakeFirstOrThrow();
  await storage.close();
  return secrets;
}

/** @returns the reason of the failed attempt; null if it succeeded */
async function sendTest(service: TestService, id: number): Promise<string | null> {
  const { status, body } = await service.call('POST', `${ENDPOINTS}/${id}/test`);
  assert.equal(status, 200);
  for (const end = performance.now() + 60_000; ; await delay(20)) {
    const { items } = (await service.call('GET', `${ENDPOINTS}/${id}/deliveries`)).body;
    const sent = items.find((delivery: { id: number }) => delivery.id === body.id);
    if (sent?.attempts > 0) return sent.error;
    assert.ok(performance.now() < end, JSON.stringify([body, items]));
  }
}

test('a secret is stored encrypted, and with the first key after each start', async (t) => {
  const store = await createTestStore(t);
  const receiver = await startReceiver(t);
  const first = await start(t, store, FIRST);
  const body = { url: receiver.url, events: ['task.failed'], scope: { type: 'account' } };
  const { id, secret } = (await first.call('POST', ENDPOINTS, { body })).body;
  await sendTest(first, id);
  await first.stop();
  const before = await readStored(store, id);
  assert.ok(!before.includes(secret) && !before.includes('whsec_'), before);

  const second = await start(t, store, `${SECOND},${FIRST}`);
  await sendTest(second, id);
  await second.stop();
  assert.notEqual(await readStored(store, id), before);
  for (const sent of await receiver.of('webhook.test', 2)) verify(secret, sent);

  const third = await start(t, store, THIRD);
  assert.match(String(await sendTest(third, id)), /^The secret cannot be decrypted/);
  const rotated = await third.call('POST', `${ENDPOINTS}/${id}/rotate-secret`);
  await sendTest(third, id);
  const [, , last] = await receiver.of('webhook.test', 3);
  verify(rotated.body.secret, last);
});
