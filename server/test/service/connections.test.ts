// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Browser, PASSWORD } from '../support/browser.ts';
import { shareService } from '../support/shared-service.ts';
import { testedStore } from '../support/test-store.ts';

/** Connections without a key, in competition with others: docs/interface §8. */

const service = shareService();
const MOST = 64;
const STRANGERS = 1_000;
const PATIENCE_MS = 60_000;

async function open(t: TestContext): Promise<Socket> {
  const socket = connect(Number(new URL(service().address).port), '127.0.0.1').on('error', () => {});
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** @returns the status of the answer */
async function ask(socket: Socket, path: string, credentials: readonly string[] = []): Promise<string> {
  socket.write([`GET ${path} HTTP/1.1`, 'Host: x', ...credentials, '', ''].join('\r\n'));
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const [data] = await Promise.race(['data', 'close'].map((event) => once(socket, event, { signal })));
  return String(data).split(' ')[1] ?? '';
}

test(`a valid key or session is answered while ${STRANGERS} strangers hold connections (§8, ${testedStore})`, async (t) => {
  service().app.server.server.maxConnections = MOST;
  const [account] = await service().app.projects.findAccounts();
  const token = await service().app.access.makeOwnerLink(account?.id ?? 0, 'test');
  const browser = new Browser(service().address);
  await browser.succeed('POST', '/management/owner', {
    token,
    email: 'ada@shop.example',
    name: 'Ada',
    password: PASSWORD,
  });
  const callers = [
    { path: '/projects', credentials: [`Authorization: Bearer ${service().key}`] },
    { path: '/management/session', credentials: [`Cookie: ${browser.cookie}`] },
  ];
  const sockets = await Promise.all(callers.map(() => open(t)));
  const askAll = (which: readonly Socket[]) =>
    Promise.all(
      callers.map(({ path, credentials }, index) => ask(which[index] as Socket, path, credentials)),
    );
  assert.deepEqual(await askAll(sockets), ['200', '200']);
  for (let number = 0; number < STRANGERS; number += 1) {
    assert.equal(await ask(await open(t), '/health/live'), '200');
    if (number % 100 !== 99) continue;
    assert.deepEqual(await askAll(sockets), ['200', '200'], 'they stay');
    assert.deepEqual(await askAll([await open(t), await open(t)]), ['200', '200'], 'others get in');
  }
});
