// runs: test
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { allowAddresses } from '../outbound/outbound.ts';
import { createSender } from './delivery-sender.ts';
import { makeSecret } from './webhook-endpoint.ts';

const notNeeded = () => assert.fail('the secret is stored as it is');
const secrets = { seal: notNeeded, unseal: notNeeded, canSeal: false, mark: undefined };
const ENDPOINT = {
  id: 1,
  accountId: 1,
  events: [],
  scope: { type: 'account' } as const,
  isEnabled: true,
  switchedOff: null,
  failingSince: null,
  createdAt: 0,
  updatedAt: 0,
  createdBy: { type: 'command', id: null, name: 'test' } as const,
  secrets: [{ value: makeSecret(), endsAt: null }],
};
const faults: object[] = [];
const logger = { error: (facts: object) => void faults.push(facts) };
const MESSAGE = { number: 1, id: 'msg_1', projectId: null, type: 'webhook.test', at: 0, body: '{}' };

/** Sends the message to a receiver with this answer. */
async function sendTo(t: TestContext, answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const send = createSender({ allows: allowAddresses(['127.0.0.1/32']), userAgent: 'test', secrets, logger });
  const { port } = server.address() as AddressInfo;
  return send({ ...ENDPOINT, url: `http://127.0.0.1:${port}/` }, MESSAGE, Date.now());
}

/** Advances the clock until the work has ended. */
async function passTime<Result>(t: TestContext, work: Promise<Result>): Promise<Result> {
  let isDone = false;
  const ended = work.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    t.mock.timers.tick(1_000);
    await new Promise(setImmediate);
  }
  return ended;
}

test('a delivery succeeds with a status 2xx even if the body does not end (§6.3)', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const bodies: Record<string, RequestListener> = {
    'a body that never ends': (_, response) => void response.writeHead(200).write('received'),
    'a body that is interrupted': (_, response) =>
      response.writeHead(200).write('received', () => response.destroy()),
  };
  for (const [name, answer] of Object.entries(bodies)) {
    const begun = Promise.withResolvers<unknown>();
    subscribe('http.client.response.finish', begun.resolve);
    t.after(() => unsubscribe('http.client.response.finish', begun.resolve));
    const pendingAttempt = sendTo(t, answer);
    await Promise.race([begun.promise, pendingAttempt]);
    const attempt = await passTime(t, pendingAttempt);
    assert.deepEqual([attempt.status, attempt.answer, attempt.error], [200, 'received', undefined], name);
  }
});

test('a delivery succeeds if the endpoint answers after 19 s (§6.3)', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const pendingAttempt = sendTo(t, (_, response) => {
    t.mock.timers.tick(19_000);
    response.writeHead(202).end('received');
  });
  const attempt = await pendingAttempt;
  assert.deepEqual([attempt.status, attempt.error], [202, undefined]);
});

test('a fault of the service is logged and becomes a failed attempt with a fixed error text (§6.3)', async () => {
  const fault = new TypeError('a fault of ours');
  const broken = {
    ...secrets,
    unseal() {
      throw fault;
    },
  };
  const send = createSender({ allows: allowAddresses([]), userAgent: 'test', secrets: broken, logger });
  const sealed = [{ value: 'sealed:1:x', endsAt: null }];
  const attempt = await send({ ...ENDPOINT, secrets: sealed, url: 'https://shop.test/' }, MESSAGE, 0);
  assert.equal(attempt.error, 'The request could not be sent');
  assert.deepEqual(faults, [{ err: fault, endpoint: ENDPOINT.id }]);
});
