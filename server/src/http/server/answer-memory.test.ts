import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import type { KeyCaller } from '../../kernel/caller.ts';
import type { Guards } from '../guards/guards.ts';
import { createServer } from './server.ts';

const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x');

test('a caller has so many answers unread, beyond which they are refused (429); others are served (§8)', async (t) => {
  const findCaller = ({ value }: { value: string }): KeyCaller => {
    const [accountId = 0, keyId = 0] = value.split('.').map(Number);
    return { accountId, keyId, keyName: value, scope: { type: 'account' }, access: 'read' };
  };
  const guards = { findCaller, countRequest: async () => undefined } as unknown as Guards;
  const settings = { logLevel: 'silent', trustedProxies: [], corsOrigins: [], bodyBudgetMib: 16 };
  const server = createServer(settings, guards);
  server.get('/large', { config: { guard: 'key' } }, async () => LARGE);
  server.get('/small', { config: { guard: 'key' } }, async () => ({ status: 'success' }));
  t.after(() => server.close());
  await server.listen({ host: '127.0.0.1', port: 0 });
  const { port } = server.server.address() as AddressInfo;

  /** Reads the head of an answer and no more. */
  async function ask(path: string, key: string) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    t.after(() => socket.destroy());
    await once(socket, 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\n\r\n`);
    const [head] = await once(socket, 'data');
    socket.pause();
    return { socket, head: String(head).slice(0, 1_000), status: Number(String(head).split(' ')[1]) };
  }

  const first = await ask('/large', '1.1');
  assert.equal(first.status, 200);
  const second = await ask('/large', '1.1');
  assert.equal(second.status, 429);
  assert.match(second.head, /retry-after: 1[\s\S]*"message":"Too Many Requests"/);
  assert.equal((await ask('/large', '1.2')).status, 429, 'another key of the account');
  assert.equal((await ask('/small', '1.1')).status, 200);
  assert.equal((await ask('/large', '2.3')).status, 200, 'another account');
  first.socket.destroy();
  while ((await ask('/large', '1.1')).status !== 200);
});
