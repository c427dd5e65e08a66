// runs: test
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import type { FastifyReply } from 'fastify';
import type { KeyCaller } from '../../kernel/caller.ts';
import type { Guards } from '../guards/guards.ts';
import { createServer } from './server.ts';

const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x');

function* writeForEver(): Generator<string> {
  for (;;) yield 'x'.repeat(1_000);
}

const stream = (reply: FastifyReply, type: string) => reply.type(type).send(Readable.from(writeForEver()));

type Ask = (path: string, key: string) => Promise<{ socket: Socket; head: string; status: number }>;

/**
 * Starts a server whose unread answers share 16 MiB. A key consists of an account and a number.
 * @returns a function that reads the head of an answer
 */
async function serveLarge(t: TestContext): Promise<Ask> {
  const findCaller = ({ value }: { value: string }): KeyCaller => {
    const [accountId = 0, keyId = 0] = value.split('.').map(Number);
    return { accountId, keyId, keyName: value, scope: { type: 'account' }, access: 'read' };
  };
  const guards = { findCaller, countRequest: async () => undefined } as Partial<Guards> as Guards;
  const settings = { logLevel: 'silent', trustedProxies: [], corsOrigins: [], bodyBudgetMib: 16, closeMs: 0 };
  const server = createServer(settings, guards);
  const config = { guard: 'key' } as const;
  server.get('/large', { config }, async () => LARGE);
  server.get('/lines', { config }, async (_, reply) => stream(reply, 'application/x-ndjson'));
  server.get('/events', { config }, async (_, reply) => stream(reply, 'text/event-stream'));
  server.get('/small', { config }, async () => ({ status: 'success' }));
  t.after(() => server.close());
  await server.listen({ host: '127.0.0.1', port: 0 });
  const { port } = server.server.address() as AddressInfo;

  return async (path, key) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    t.after(() => socket.destroy());
    await once(socket, 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\n\r\n`);
    const [head] = await once(socket, 'data');
    socket.pause();
    return { socket, head: String(head).slice(0, 1_000), status: Number(String(head).split(' ')[1]) };
  };
}

test('a caller with too many unread answers is refused (429), and other accounts are served (§8)', async (t) => {
  const ask = await serveLarge(t);
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

test('an open stream counts as 4 MiB of unread answers, except events (§8)', async (t) => {
  const ask = await serveLarge(t);
  const first = await ask('/lines', '1.1');
  assert.deepEqual([first.status, (await ask('/lines', '1.1')).status], [200, 200]);
  assert.equal((await ask('/lines', '1.1')).status, 429, 'the third stream of a key');
  assert.equal((await ask('/lines', '1.2')).status, 200, 'another key of the account');
  assert.equal((await ask('/lines', '1.2')).status, 429, 'the fourth stream of an account');
  assert.equal((await ask('/lines', '2.3')).status, 200, 'another account');
  assert.equal((await ask('/events', '1.1')).status, 200);
  first.socket.destroy();
  while ((await ask('/lines', '1.1')).status !== 200);
});
